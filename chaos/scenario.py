"""What a scenario is given, and what it answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from chaos.attention.accounts import Accounts
from chaos.content.posted import Contents
from chaos.job import Job
from chaos.ledger_compare import Comparison
from chaos.machines.counted import Counted
from chaos.processes import Child, Overdue, Processes
from chaos.questions.way_back import WayBack
from chaos.rig import Rig, rig
from chaos.talks.said import Talks


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """`short` is the cut that runs in the tests: the same faults, fewer of them."""

    processes: Processes
    postgres_url: str
    seed: int = 1
    short: bool = False

    def sized(self, full: int, short: int) -> int:
        return short if self.short else full

    @asynccontextmanager
    async def sqlite(self, name: str) -> AsyncIterator[Rig]:
        async with rig(self.processes, None, f"{self.seed}/{name}") as found:
            yield found

    @asynccontextmanager
    async def postgres(self, name: str) -> AsyncIterator[Rig]:
        async with rig(self.processes, self.postgres_url, f"{self.seed}/{name}") as found:
            yield found


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """`note` is for the table; `complaints` are what this scenario expected beside the comparison."""

    comparison: Comparison | WayBack | Accounts | Talks | Contents | Counted
    note: str = ""
    complaints: tuple[str, ...] = field(default=())

    @property
    def passed(self) -> bool:
        return self.comparison.sound and not self.complaints

    @property
    def said(self) -> tuple[str, ...]:
        return (*self.complaints, *self.comparison.complaints)


class About(StrEnum):
    DELIVERIES = "deliveries"
    QUESTIONS = "questions"
    ATTENTION = "attention"
    TALKS = "talks"
    CONTENT = "content"
    MACHINES = "machines"


class NotPermitted(Exception):
    """This host does not allow what the scenario needs; it has not been run, and that is no success."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """
    `in_short`: quick enough for every test run. `about` is the table in the docs it belongs to.

    `about_seconds` is how long it takes on two cores, roughly: the longest are begun first.
    """

    name: str
    what: str
    run: Callable[[World], Awaitable[Result]]
    in_short: bool = True
    about: About = About.DELIVERIES
    about_seconds: float = 15.0


def expectations(*checks: tuple[bool, str]) -> tuple[str, ...]:
    """The sentences of those that do not hold."""
    return tuple(sentence for holds, sentence in checks if not holds)


LEASES_OVER_SECONDS = 100.0  # by a clock this far ahead, every lease of a dead process has run out


async def recover(place: Rig, *, seconds: float = 120.0) -> None:
    """One process, started later than every lease and left alone, until nothing is left to do."""
    await left_alone(place, place.job(clock_offset_seconds=LEASES_OVER_SECONDS, limit_seconds=seconds))


async def left_alone(place: Rig, job: Job) -> None:
    code = await place.processes.run(job)
    if code != 0:
        raise RuntimeError(f"a process that was left alone ended with {code}\n{place.last_words()}")


async def stop_orderly(place: Rig, children: Iterable[Child], seconds: float = 10.0) -> tuple[str, ...]:
    """SIGTERM to all; what is wrong with how they ended."""
    said: list[str] = []
    for child in children:
        child.terminate()
        try:
            code = await child.ended(seconds)
        except Overdue:
            said.append(f"a worker needed more than {seconds:.0f} s to stop")
        else:
            said += [f"a worker ended with {code}: {place.last_words()[-400:]}"] if code else []
    return tuple(said)
