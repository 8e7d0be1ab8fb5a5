"""A browser that has agreed to show what the household sends it: an address of a person, under a short id."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Protocol

DEVICE_ID: Final = re.compile(r"[0-9a-f]{16}")
MOST_NAME_CHARACTERS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class PushSubscription:
    """Where its push service takes messages, and the keys that only this browser can read them with; all secret."""

    endpoint: str = field(repr=False)
    p256dh: str = field(repr=False)
    auth: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PushDevice:
    """`id` is the address; `mark` tells the browser itself which one it is, and no one else where it is reached."""

    id: str
    channel: str
    person_id: str
    name: str
    mark: str
    created_at_us: int
    last_used_at_us: int | None = None
    ended_at_us: int | None = None
    """Its push service knows it no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifiedMessage:
    """What a notification was about, with its whole text."""

    sender: str
    subject: str | None = field(repr=False)
    text: str = field(repr=False)
    created_at_us: int


class PushDevices(Protocol):
    """What the channel asks of the record."""

    async def subscription(self, channel: str, device_id: str) -> PushSubscription | None:
        """None when it was removed, or has ended."""
        ...

    async def used(self, device_id: str) -> None: ...

    async def ended(self, device_id: str) -> None:
        """Its person is not reached there any more."""
        ...
