"""This machine's clock, corrected by one that all machines read: leases and pauses mean the same on each of them."""

from __future__ import annotations

from typing import Final

from postroom.domain.time import seconds
from postroom.system.clock import SystemClock

AGREES_US: Final = seconds(1)  # clocks that are kept agree better; a lease lasts many times as long


class SharedClock(SystemClock):
    """Its own time until it is told another."""

    def __init__(self) -> None:
        super().__init__()
        self._ahead_us = 0

    def now_us(self) -> int:
        return super().now_us() + self._ahead_us

    def follow(self, theirs_us: int, *, asked_us: int, heard_us: int) -> int:
        """By how much it is put forward; an answer that was long under way proves less of a difference."""
        off_us = theirs_us - (asked_us + heard_us) // 2
        if abs(off_us) - (heard_us - asked_us) // 2 <= AGREES_US:
            return 0
        self._ahead_us += off_us
        return off_us
