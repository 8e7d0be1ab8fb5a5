"""Tells open pages that something changed, here or in another process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from postroom.domain.clock import Clock
from postroom.domain.time import seconds
from postroom.doors.console.pulse import HouseholdPulse
from postroom.system.signal import Signal

LOOK_SECONDS: Final = 1.0
_UNSEEN_US: Final = seconds(10.0)  # between reading a page and hearing from it


class Ear(Signal):
    """One open page, and what it has not yet heard."""

    def __init__(self, user_id: str) -> None:
        super().__init__()
        self.user_id = user_id
        self.is_new = True  # nobody has looked since its page was read
        self._topics: set[str] = set()

    def hear(self, topic: str) -> None:
        kind, _, whose = topic.partition(":")
        if not whose or whose == self.user_id:
            self._topics.add(kind)
            self.ring()

    def take(self) -> list[str]:
        heard, self._topics = sorted(self._topics), set()
        return heard


class Changes:
    """One question to the store for all pages together, once a second and only while a page is open."""

    def __init__(self, pulse: HouseholdPulse, clock: Clock) -> None:
        self._pulse = pulse
        self._clock = clock
        self._ears: set[Ear] = set()
        self._known: dict[str, tuple[Any, ...]] = {}
        self.anybody = Signal()
        self.stopping = asyncio.Event()

    @contextmanager
    def listening(self, user_id: str) -> Iterator[Ear]:
        ear = Ear(user_id)
        if not self._ears:
            self._known = {}  # old news: whoever opens a page has just read how things are
            self.anybody.ring()
        if self.stopping.is_set():
            ear.close()
        self._ears.add(ear)
        try:
            yield ear
        finally:
            self._ears.discard(ear)

    def stop(self) -> None:
        """Streams end by themselves, so that none has to be cut off."""
        self.stopping.set()
        self.anybody.ring()
        for ear in self._ears:
            ear.close()

    async def look(self) -> int | None:
        """One question for all pages; returns when to ask again, None until `anybody` opens one."""
        if not self._ears:
            return None
        now_us = self._clock.now_us()
        found = await self._pulse.look({ear.user_id for ear in self._ears}, now_us)
        for topic, pulse in found.items():
            self._tell(topic, pulse, now_us)
            self._known[topic] = pulse or self._known.get(topic, pulse)
        for ear in self._ears:
            ear.is_new = False
        return self._clock.now_us() + seconds(LOOK_SECONDS)

    def _tell(self, topic: str, pulse: tuple[Any, ...], now_us: int) -> None:
        """A page just opened may have been read a moment before the newest change."""
        if not pulse:
            return
        changed = self._known.get(topic, pulse) != pulse
        recent = ":" in topic or pulse[0] > now_us - _UNSEEN_US  # an inbox has a pulse only while it is stirring
        for ear in self._ears:
            if changed or (ear.is_new and recent):
                ear.hear(topic)
