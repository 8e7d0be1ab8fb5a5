"""The real clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from postroom.domain.time import SECOND_US
from postroom.ports import Alarm


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

    def ring(self, at_us: int, bell: Callable[[], None]) -> Alarm:
        seconds_left = max(0.0, (at_us - self.now_us()) / SECOND_US)
        return asyncio.get_running_loop().call_later(seconds_left, bell)
