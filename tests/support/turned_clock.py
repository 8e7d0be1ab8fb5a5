"""A clock whose hands the test turns."""

from __future__ import annotations

import asyncio

from postroom.kernel.values.ids import seconds

NOON_US = 1_800_000_000_000_000


class TurnedClock:
    def __init__(self, now_us: int = NOON_US) -> None:
        self._now_us = now_us

    def now_us(self) -> int:
        return self._now_us

    async def wait(self, event: asyncio.Event, until_us: int | None) -> bool:
        if until_us is None or until_us > self._now_us:
            await event.wait()
        return event.is_set()

    def turn(self, by_seconds: float) -> None:
        self._now_us += seconds(by_seconds)
