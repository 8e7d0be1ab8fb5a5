"""An address from which mail came back for good: written to no more, or doubted where its owner had proved it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.domain.ids import DeliveryId


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
