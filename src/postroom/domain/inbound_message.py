"""What a person wrote to us on a channel, whatever the provider calls its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundMessage:
    channel: str
    number: int
    """The provider's own count, for logs and ids; 0 when it gave none."""
    message_id: str
    addresses: tuple[str, ...]
    """Every address the place is known by, its own id first."""
    sender: str | None = None
    """The person whose own words these are; None for bots, forwarded words and those who hide behind a chat."""
    text: str | None = field(default=None, repr=False)
    replies_to: str | None = None
    """The provider's id of our message that is answered."""
    alone: bool = False
    """A person wrote it where only they and we are."""

    @property
    def thread_identity(self) -> str:
        return f"{self.addresses[0]}:{self.message_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """One look into a channel."""

    messages: Sequence[InboundMessage] = ()
    position: int | None = None
    """Where the next look begins; None when nothing new came."""
