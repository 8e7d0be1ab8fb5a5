"""Pairing: how a person proves that an address is theirs, and what is kept of it meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from postroom.domain.time import seconds

LIFE_SECONDS: Final = 3600.0
MOST_OPEN: Final = 3  # of one person, codes and links together
MOST_WRONG: Final = 10
CLOSED_SECONDS: Final = 3600.0
_CLOSED_US: Final = seconds(CLOSED_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPairing:
    """`digest` is what is kept of a code; without one a link is sent to `address`."""

    id: str
    person_id: str
    channel: str
    digest: str | None = None
    address: str | None = None
    created_at_us: int

    @property
    def expires_at_us(self) -> int:
        return self.created_at_us + seconds(LIFE_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedPairing:
    """With a code for the person to send us, or with the address that a link was sent to."""

    code: str | None = field(default=None, repr=False)
    sent_to: str | None = None
    expires_at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeSent:
    """What looks like codes in one message, by their digests, and who sent it by the channel's own proof."""

    channel: str
    sender: str
    event_id: str
    digests: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongCodes:
    """Of one sender; ten of them within an hour, and for an hour no code helps."""

    count: int = 0
    last_at_us: int = 0

    def is_closed(self, now_us: int) -> bool:
        return self.count >= MOST_WRONG and self._is_recent(now_us)

    def and_more(self, wrong: int, now_us: int) -> WrongCodes:
        """While no code helps, more of them make it no longer."""
        if self.is_closed(now_us):
            return self
        before = self.count if self._is_recent(now_us) else 0
        return replace(self, count=before + wrong, last_at_us=now_us)

    def _is_recent(self, now_us: int) -> bool:
        return now_us < self.last_at_us + _CLOSED_US
