"""Wakes whoever waits for news of intents."""

from __future__ import annotations

import asyncio

from postroom.domain.time import seconds
from postroom.ports import Clock

_LOOK_AGAIN_SECONDS = 2.0  # another process may have news that rings no bell here


class Bulletin:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: set[asyncio.Event] = set()
        self.closed = False

    def ring(self) -> None:
        for event in self._waiting:
            event.set()

    def close(self) -> None:
        """We are stopping: nobody waits any longer."""
        self.closed = True
        self.ring()

    async def wait(self, until_us: int) -> None:
        """Until there may be news, and never past the given moment."""
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            soon = self._clock.now_us() + seconds(_LOOK_AGAIN_SECONDS)
            await self._clock.wait(event, min(until_us, soon))
        finally:
            self._waiting.discard(event)
