"""A clock whose hands only the test turns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from postroom.kernel.running.clock import Alarm
from postroom.kernel.values.ids import seconds
from tests.patience import PATIENCE_SECONDS

START_US = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
_PASSES = 50  # turns of the event loop that what was woken gets before time moves on


class FakeClock:
    """
    The Clock port without real time.

    `advance` stops at every moment somebody waits for, in order, so a loop that
    waits again and again sees each of its times, and two loops interleave as
    they would in real life.
    """

    def __init__(self, now_us: int = START_US) -> None:
        self._now_us = now_us
        self._alarms: dict[asyncio.Future[None], int] = {}
        self._changed = asyncio.Event()

    def now_us(self) -> int:
        return self._now_us

    async def wait(self, event: asyncio.Event, until_us: int | None) -> bool:
        if event.is_set():
            return True
        if until_us is None:
            return await event.wait()
        if until_us <= self._now_us:
            return False
        return await self._wait_for_either(event, until_us)

    def ring(self, at_us: int, bell: Callable[[], None]) -> Alarm:
        alarm = self._alarm(at_us)
        alarm.add_done_callback(lambda rung: None if rung.cancelled() else bell())
        if at_us <= self._now_us:
            self._go_off([alarm])
        return alarm

    @property
    def waiting(self) -> int:
        """How many waits have a time at which they end."""
        return len(self._alarms)

    @property
    def next_us(self) -> int | None:
        """The earliest time somebody waits for."""
        return min(self._alarms.values(), default=None)

    async def parked(self, count: int = 1) -> None:
        """Until that many timed waits have begun: code under test that does real I/O needs a moment to get there."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(self._alarms) < count:
                self._changed.clear()
                await self._changed.wait()

    async def advance(self, by_seconds: float) -> None:
        """Turns the hands and lets everything that is due run as far as it gets without real I/O."""
        end_us = self._now_us + seconds(by_seconds)
        await _let_others_run()
        while (due_us := min(self._alarms.values(), default=end_us)) < end_us:
            await self._turn_to(due_us)
        await self._turn_to(end_us)

    def jump(self, by_seconds: float) -> None:
        """Set, or asleep with its machine: whoever waits already goes on waiting for as long as before."""
        self._now_us += seconds(by_seconds)
        self._alarms = {alarm: at_us + seconds(by_seconds) for alarm, at_us in self._alarms.items()}

    async def _turn_to(self, moment_us: int) -> None:
        self._now_us = max(self._now_us, moment_us)
        self._go_off([alarm for alarm, due_us in self._alarms.items() if due_us <= self._now_us])
        await _let_others_run()

    def _alarm(self, at_us: int) -> asyncio.Future[None]:
        alarm: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        alarm.add_done_callback(lambda over: self._alarms.pop(over, None))
        self._alarms[alarm] = at_us
        self._changed.set()
        return alarm

    def _go_off(self, alarms: Sequence[asyncio.Future[None]]) -> None:
        for alarm in alarms:
            del self._alarms[alarm]
            if not alarm.done():
                alarm.set_result(None)

    async def _wait_for_either(self, event: asyncio.Event, until_us: int) -> bool:
        alarm = self._alarm(until_us)
        setter = asyncio.ensure_future(event.wait())
        try:
            await asyncio.wait((alarm, setter), return_when=asyncio.FIRST_COMPLETED)
        finally:
            setter.cancel()
            self._alarms.pop(alarm, None)
        return event.is_set()


async def _let_others_run() -> None:
    for _ in range(_PASSES):
        await asyncio.sleep(0)
