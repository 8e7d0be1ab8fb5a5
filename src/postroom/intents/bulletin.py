"""Wakes whoever waits for news of intents."""

from __future__ import annotations

import asyncio

from postroom.domain.time import seconds
from postroom.ports import Clock

_LOOK_AGAIN_SECONDS = 2.0  # another process may have news that rings no bell here


class Bulletin:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._next = asyncio.Event()
        self.rung = asyncio.Event()  # stays set until the one loop that works on intents clears it
        self.closed = False

    def news(self) -> asyncio.Event:
        """What comes next: taken before looking at what there is, so that nothing in between is missed."""
        return self._next

    def ring(self) -> None:
        news, self._next = self._next, asyncio.Event()
        news.set()
        self.rung.set()

    def close(self) -> None:
        """We are stopping: nobody waits any longer."""
        self.closed = True
        self.ring()

    async def wait(self, news: asyncio.Event, until_us: int) -> None:
        """Until there may be news, and never past the given moment."""
        soon = self._clock.now_us() + seconds(_LOOK_AGAIN_SECONDS)
        await self._clock.wait(news, min(until_us, soon))
