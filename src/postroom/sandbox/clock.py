"""The machine's own clock, for a sandbox that runs alone."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from postroom.domain.time import SECOND_US


class MachineClock:
    def now_us(self) -> int:
        return time.time_ns() // 1_000

    async def wait(self, event: asyncio.Event, until_us: int | None) -> bool:
        remaining = None if until_us is None else max(0, until_us - self.now_us()) / SECOND_US
        with suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), remaining)
        return event.is_set()
