"""The machine's clock, set wrong on purpose."""

from __future__ import annotations

import time

from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.ids import seconds


class OffsetClock(SystemClock):
    """Waits stay as long as they are; only the time of day is off, and may jump while the process runs."""

    def __init__(self, offset_seconds: float = 0.0) -> None:
        super().__init__()
        self.offset_us = seconds(offset_seconds)

    def jump(self, by_seconds: float) -> None:
        self.offset_us += seconds(by_seconds)

    def now_us(self) -> int:
        return time.time_ns() // 1000 + self.offset_us
