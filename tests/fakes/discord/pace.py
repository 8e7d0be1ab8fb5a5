"""Discord's documented pace: fifty requests a second for a bot, and headers that say how many are left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from postroom.kernel.values.ids import SECOND_US

MOST_A_SECOND: Final = 50


class BotPace:
    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us = now_us
        self._second = 0
        self._used = 0
        self.full_seconds: float | None = None  # what each answer says while it is set: no more for so long

    def allows(self) -> bool:
        second = self._now_us() // SECOND_US
        if second != self._second:
            self._second, self._used = second, 0
        self._used += 1
        return self._used <= MOST_A_SECOND

    def wait_seconds(self) -> float:
        return (SECOND_US - self._now_us() % SECOND_US) / SECOND_US

    def headers(self) -> dict[str, str]:
        return {
            "X-RateLimit-Limit": str(MOST_A_SECOND),
            "X-RateLimit-Remaining": "0" if self.full_seconds else str(max(MOST_A_SECOND - self._used, 0)),
            "X-RateLimit-Reset": str(self._second + 1),
            "X-RateLimit-Reset-After": f"{self.full_seconds or self.wait_seconds():.3f}",
            "X-RateLimit-Bucket": "5anb0x",
        }
