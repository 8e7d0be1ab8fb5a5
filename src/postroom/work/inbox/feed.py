"""Tells open streams that something happened in somebody's inbox, here or in another process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from postroom.domain.clock import Clock
from postroom.domain.time import seconds
from postroom.system.signal import Signal
from postroom.work.inbox.ports import Notes

LOOK_SECONDS: Final = 0.5
# Another machine's clock may lag, and a transaction may commit later than its row says.
_OVERLAP_SECONDS: Final = 10.0


class Feed:
    """
    What happens in this process rings at once; for the rest one question to the
    store, for all who listen together, twice a second and only while anybody does.
    """

    def __init__(self, notes: Notes, clock: Clock) -> None:
        self._notes = notes
        self._clock = clock
        self._signals: dict[str, set[Signal]] = {}
        self._pulses: dict[str, tuple[int, int]] = {}
        self.anybody = Signal()
        self.stopping = asyncio.Event()

    def ring(self, user_id: str) -> None:
        for signal in self._signals.get(user_id, ()):
            signal.ring()

    @contextmanager
    def listening(self, user_id: str) -> Iterator[Signal]:
        signal = Signal()
        if not self._signals:
            self.anybody.ring()
        if self.stopping.is_set():
            signal.close()
        self._signals.setdefault(user_id, set()).add(signal)
        try:
            yield signal
        finally:
            self._signals[user_id].discard(signal)
            if not self._signals[user_id]:
                del self._signals[user_id]
                self._pulses.pop(user_id, None)

    def stop(self) -> None:
        """Streams end by themselves, so that none has to be cut off."""
        self.stopping.set()
        self.anybody.ring()
        for signals in self._signals.values():
            for signal in signals:
                signal.close()

    async def look(self) -> int | None:
        """One question for all who listen; returns when to ask again, None until `anybody` comes."""
        if not self._signals:
            return None
        now_us = self._clock.now_us()
        found = await self._notes.pulses(frozenset(self._signals), now_us - seconds(_OVERLAP_SECONDS), now_us)
        for user_id, pulse in found.items():
            if user_id in self._signals and self._pulses.get(user_id) != pulse:
                self._pulses[user_id] = pulse
                self.ring(user_id)
        return self._clock.now_us() + seconds(LOOK_SECONDS)
