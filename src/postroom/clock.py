"""The real clock."""

from __future__ import annotations

import asyncio
import time

from postroom.domain.time import SECOND_US


class SystemClock:
    def now_us(self) -> int:
        return time.time_ns() // 1000

    async def wait(self, event: asyncio.Event, until_us: int | None) -> bool:
        if until_us is None:
            return await event.wait()
        try:
            async with asyncio.timeout(max(0.0, (until_us - self.now_us()) / SECOND_US)):
                return await event.wait()
        except TimeoutError:
            return event.is_set()
