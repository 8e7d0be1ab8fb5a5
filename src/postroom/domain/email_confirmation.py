"""The proof that an address is the person's own: a link in a message to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from postroom.domain.confirmation_origin import Purpose

LINK_LIFE_SECONDS: Final = 24 * 3600.0
MOST_A_DAY: Final = 3  # so that preferences are no way to write to strangers


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedToConfirm:
    """A message to be sent: the secret stands in its link and is kept nowhere, its digest names the message."""

    digest: str
    address: str
    secret: str = field(repr=False)
    attempts: int
    purpose: Purpose = Purpose.INBOX
    channel: str = "email"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressClaim:
    """What a link confirms: that this address is this person's."""

    user_id: str
    address: str
    purpose: Purpose = Purpose.INBOX
    channel: str = "email"
