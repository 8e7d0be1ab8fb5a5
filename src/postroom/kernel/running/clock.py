"""The only source of time: the port, the real clock, and limits on how long a call may take."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol, TypeVar

from postroom.kernel.values.ids import SECOND_US, seconds


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


# The real one.

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


# This machine's clock, corrected by one that all machines read: leases and pauses mean the same on each of them.

_AGREES_US: Final = seconds(1)  # clocks that are kept agree better; a lease lasts many times as long


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
        if abs(off_us) - (heard_us - asked_us) // 2 <= _AGREES_US:
            return 0
        self._ahead_us += off_us
        return off_us


# Calls that take too long are given up, and those that do not pay nothing for it.

Result = TypeVar("Result")


class Overdue:
    """
    For limits that are hardly ever met: of a channel that forgets its own deadline, of a database that falls silent.

    One timer looks at all calls now and then, so those that end in time, and that
    is nearly all, pay for none of their own.
    """

    def __init__(self, *, look_every_seconds: float = 1.0) -> None:
        self._look_every_seconds = look_every_seconds
        self._until: dict[asyncio.Task[Any], float] = {}
        self._given_up: set[asyncio.Task[Any]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def limit(self, call: Awaitable[Result], seconds: float) -> Result:
        """Raises TimeoutError when the call was given up."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # narrows the type; a coroutine runs in a task
        until = task.get_loop().time() + seconds
        around = self._until.get(task, math.inf)  # a call within a call has no more time than the one around it
        self._until[task] = min(until, around)
        asked_before = task.cancelling()
        if self._timer is None:
            self._look_later(task.get_loop())
        try:
            return await call
        except asyncio.CancelledError:
            if task in self._given_up and task.cancelling() == asked_before + 1:
                raise TimeoutError from None
            raise
        finally:
            if around < math.inf:
                self._until[task] = around
            else:
                del self._until[task]
            if task in self._given_up:  # however the call ended: what we asked of the task is over with it
                self._given_up.discard(task)
                task.uncancel()

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(self._look_every_seconds, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        for task, until in self._until.items():
            if until <= loop.time() and task not in self._given_up:
                self._given_up.add(task)
                task.cancel()
        if self._until:
            self._look_later(loop)
