"""An address that is written to no more: what was sent there came back for good, or its owner wants nothing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.domain.ids import DeliveryId


class Closing(StrEnum):
    BOUNCED = "bounced"
    UNSUBSCRIBED = "unsubscribed"


_SENTENCES: Final = {
    Closing.BOUNCED: "what was sent to this address came back",
    Closing.UNSUBSCRIBED: "whoever reads this address has asked for no more messages",
}


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
    def code(self) -> str:
        return f"address_{self.reason}"

    @property
    def sentence(self) -> str:
        said = _SENTENCES[self.reason]
        return f"{said}: {self.words}" if self.words else said
