"""Scenarios side by side, because most of their time is waiting: the longest first, in a few lanes."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from typing import Final

from chaos import lane_process
from chaos.entry import Entry
from chaos.lane_process import Ticket
from chaos.scenario import About, Scenario

MOST_AT_ONCE: Final = {About.MACHINES: 2}
"""Households on three machines each: more of them are only slow."""

Running = Callable[[Scenario], Awaitable[Entry]]


class Lanes:
    """`run` is called for each scenario once, at most `number` at a time; `ended` hears of each as it ends."""

    def __init__(self, number: int, run: Running, ended: Callable[[Entry], None]) -> None:
        self._number = number
        self._run = run
        self._ended = ended
        self._waiting: list[Scenario] = []
        self._under_way: Counter[About] = Counter()
        self._changed = asyncio.Condition()
        self._entries: dict[str, Entry] = {}

    async def all(self, scenarios: Sequence[Scenario]) -> list[Entry]:
        """In the order in which they were given, whichever ended first."""
        self._waiting = sorted(scenarios, key=lambda one: -one.about_seconds)
        async with asyncio.TaskGroup() as lanes:
            for _ in range(self._number):
                lanes.create_task(self._lane())
        return [self._entries[scenario.name] for scenario in scenarios]

    async def _lane(self) -> None:
        while (scenario := await self._next()) is not None:
            found = await self._run(scenario)
            self._entries[scenario.name] = found
            self._ended(found)
            async with self._changed:
                self._under_way[scenario.about] -= 1
                self._changed.notify_all()

    async def _next(self) -> Scenario | None:
        """The longest that may run now; none when all are under way."""
        async with self._changed:
            while self._waiting:
                for scenario in self._waiting:
                    if self._under_way[scenario.about] < MOST_AT_ONCE.get(scenario.about, self._number):
                        self._waiting.remove(scenario)
                        self._under_way[scenario.about] += 1
                        return scenario
                await self._changed.wait()
            return None


class LaneProcesses:
    """Each lane is a process, so that what blocks in one holds up no other; one that dies is replaced."""

    def __init__(self, number: int, postgres_url: str, *, seed: int, short: bool, limit_seconds: float) -> None:
        self._free = [_pool() for _ in range(number)]
        self._postgres_url = postgres_url
        self._seed = seed
        self._short = short
        self._limit_seconds = limit_seconds

    async def run(self, scenario: Scenario) -> Entry:
        pool, began = self._free.pop(), time.monotonic()
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, lane_process.run, self._ticket(scenario))
        except BrokenExecutor as error:
            pool.shutdown(wait=False)
            pool = _pool()
            seconds = time.monotonic() - began
            return Entry(scenario=scenario, result=None, error=f"its lane died: {error!r}", seconds=seconds)
        finally:
            self._free.append(pool)

    def _ticket(self, scenario: Scenario) -> Ticket:
        return Ticket(
            scenario=scenario,
            postgres_url=self._postgres_url,
            seed=self._seed,
            short=self._short,
            limit_seconds=self._limit_seconds,
        )

    def close(self) -> None:
        for pool in self._free:
            pool.shutdown()


def _pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn"))
