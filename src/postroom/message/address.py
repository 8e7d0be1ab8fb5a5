"""Addresses: when two are the same, which are closed, and who stands behind one."""

from __future__ import annotations

import string
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.kernel.values.ids import DeliveryId

# When two addresses are the same: for trust, limits, idempotency and matching alike.

_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def folded(address: str) -> str:
    """ASCII case only: full case folding would turn other letters, such as the Kelvin sign, into ours."""
    return address.lower() if address.isascii() else address.translate(_LOWER)


# An address from which mail came back for good: written to no more, or doubted where its owner had proved it.


class Closing(StrEnum):
    BOUNCED = "bounced"
    DOUBTFUL = "doubtful"
    """A person has proved the address, so no report of a server closes it: it is only said."""


ADDRESS_BOUNCED: Final = "address_bounced"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedAddress:
    """`words` are those of the server that sent the message back, on one line."""

    channel: str
    address: str
    reason: Closing
    words: str
    delivery_id: DeliveryId
    at_us: int

    @property
    def is_closed(self) -> bool:
        return self.reason is Closing.BOUNCED

    @property
    def sentence(self) -> str:
        said = "what was sent to this address came back"
        return f"{said}: {self.words}" if self.words else said


# Who stands behind an address, in as few words as a list of names needs.


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldAddress:
    """One person at one address; without a channel, a person who was asked for by id."""

    person_id: str
    name: str
    channel: str | None = None
    folded: str | None = None
    is_verified: bool = False
