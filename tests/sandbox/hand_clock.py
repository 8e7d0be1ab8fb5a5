"""A clock whose hands the test turns."""

from __future__ import annotations

import asyncio

from tests.patience import PATIENCE_SECONDS

from postroom.kernel.values.ids import seconds

START_US = 1_780_000_000_000_000


class HandClock:
    def __init__(self) -> None:
        self._now_us = START_US
        self._moved = asyncio.Condition()
        self.sleepers = 0

    def now_us(self) -> int:
        return self._now_us

    async def wait(self, event: asyncio.Event, until_us: int | None) -> bool:
        due = asyncio.ensure_future(self._until(until_us))
        rung = asyncio.ensure_future(event.wait())
        try:
            await asyncio.wait({due, rung}, return_when=asyncio.FIRST_COMPLETED)
            return event.is_set()
        finally:
            due.cancel()
            rung.cancel()

    async def turn(self, by_seconds: float) -> None:
        async with self._moved:
            self._now_us += seconds(by_seconds)
            self._moved.notify_all()

    async def someone_waits(self) -> None:
        await self.sleeping(1)

    async def sleeping(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS), self._moved:
            await self._moved.wait_for(lambda: self.sleepers >= count)

    async def nobody_waits(self) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS), self._moved:
            await self._moved.wait_for(lambda: self.sleepers == 0)

    async def _until(self, until_us: int | None) -> None:
        async with self._moved:
            self.sleepers += 1
            self._moved.notify_all()
            try:
                await self._moved.wait_for(lambda: until_us is not None and self._now_us >= until_us)
            finally:
                self.sleepers -= 1
                self._moved.notify_all()
