"""The real clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from postroom.domain.clock import Alarm
from postroom.domain.time import SECOND_US

_NEAR_SECONDS = 1.0
_LOOK_SECONDS = 0.1


class SystemClock:
    def __init__(self) -> None:
        self._far = _FarAlarms()

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
        loop = asyncio.get_running_loop()
        if seconds_left < _NEAR_SECONDS:
            return loop.call_later(seconds_left, bell)
        return self._far.put(loop, loop.time() + seconds_left, bell)


class _FarAlarms:
    """
    Nearly all of them are cancelled before their time, so one timer looks at all of them now and then.

    They ring a tenth of a second late at most, and never early.
    """

    def __init__(self) -> None:
        self._set: dict[_FarAlarm, Callable[[], None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def put(self, loop: asyncio.AbstractEventLoop, at: float, bell: Callable[[], None]) -> _FarAlarm:
        alarm = _FarAlarm(at, self._set)
        self._set[alarm] = bell
        if self._loop is not loop:
            self._look_later(loop)
        return alarm

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        loop.call_later(_LOOK_SECONDS, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = None
        now = loop.time()
        for alarm in sorted((one for one in self._set if one.at <= now), key=lambda one: one.at):
            loop.call_soon(self._set.pop(alarm))  # by itself, so that none can keep the next from ringing
        if self._set:
            self._look_later(loop)


class _FarAlarm:
    __slots__ = ("_among", "at")

    def __init__(self, at: float, among: dict[_FarAlarm, Callable[[], None]]) -> None:
        self.at = at
        self._among = among

    def cancel(self) -> None:
        self._among.pop(self, None)
