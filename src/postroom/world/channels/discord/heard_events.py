"""What came over the Gateway and has not been handled yet, each with a place in a count that never goes back."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from postroom.domain.inbound_message import InboundEvent, Listened

MOST_WAITING: Final = 10_000


class HeardEvents:
    """The count is microseconds since 1970, so that it goes on growing over a restart."""

    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us = now_us
        self._last = 0
        self._waiting: deque[tuple[int, InboundEvent]] = deque()
        self._news = asyncio.Event()

    @property
    def is_full(self) -> bool:
        return len(self._waiting) >= MOST_WAITING

    def add(self, event: InboundEvent) -> None:
        self._last = max(self._now_us(), self._last + 1)
        self._waiting.append((self._last, event))
        self._news.set()

    def handled_before(self, position: int | None) -> None:
        """A position beyond our own clock is from before the clock was set back; we go on from there."""
        if position is None:
            return
        while self._waiting and self._waiting[0][0] < position:
            self._waiting.popleft()
        self._last = max(self._last, position)
        if not self._waiting:
            self._news.clear()

    async def some(self) -> None:
        await self._news.wait()

    def listened(self) -> Listened:
        if not self._waiting:
            return Listened()
        return Listened(events=[event for _, event in self._waiting], position=self._waiting[-1][0] + 1)
