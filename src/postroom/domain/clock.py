"""The only source of time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """The only source of time; tests turn the hands themselves."""

    def now_us(self) -> int: ...

    async def wait(self, event: asyncio.Event, until_us: int | None) -> bool:
        """Until the event is set (True) or the time has come (False); clears nothing."""
        ...

    def ring(self, at_us: int, bell: Callable[[], None]) -> Alarm:
        """Call the bell when the time has come, unless the alarm is cancelled before."""
        ...


class Alarm(Protocol):
    def cancel(self) -> object: ...
