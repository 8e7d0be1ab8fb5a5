"""kill -9 at every step of a delivery, then a start on the same data."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from chaos.crash_points import CrashPlan, Point
from chaos.job import Job, Package, Until
from chaos.ledger_compare import Cause
from chaos.ledger_rows import read_rows
from chaos.rig import Rig
from chaos.routes import ROUTES
from chaos.scenario import LEASES_OVER_SECONDS, Result, Scenario, World

_SECONDS: Final = 30.0
_ROUNDS: Final = 12  # of each of the eight combinations
_ENOUGH_SECONDS: Final = 240.0  # of rounds, on a machine that is too slow for all of them
_LOOK_SECONDS: Final = 0.02
_SEVERAL_PARTS = frozenset({Point.BEFORE_ADVANCE, Point.AFTER_ADVANCE})
_CLAIMED = frozenset({Point.BEFORE_CLAIM, Point.AFTER_CLAIM, Point.BEFORE_MARK, Point.AFTER_MARK})
_RECOVERY = frozenset(
    {Point.BEFORE_RECLAIM, Point.AFTER_RECLAIM, Point.BEFORE_ASK, Point.AFTER_ASK, Point.AFTER_SECOND_SEND}
)


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one message."""

    copies: int  # of the part that arrived most often
    status: str | None
    possible_duplicate: bool
    uncertain_attempts: int


NOT_STORED: Final = Fate(0, None, False, 0)
ONCE: Final = Fate(1, "delivered", False, 0)

# Between the mark and the settlement nobody can know; everywhere else the message arrives exactly once. What can be
# sent at once is marked as it is inserted; what a worker claims is marked by itself.
EXPECTED: Final[dict[Point, dict[str, Fate]]] = {
    Point.BEFORE_INSERT: {"resend": NOT_STORED, "hold": NOT_STORED},
    Point.AFTER_INSERT: {"resend": Fate(1, "delivered", True, 1), "hold": Fate(0, "dead_lettered", False, 1)},
    Point.BEFORE_CLAIM: {"resend": ONCE, "hold": ONCE},
    Point.AFTER_CLAIM: {"resend": ONCE, "hold": ONCE},
    Point.BEFORE_MARK: {"resend": ONCE, "hold": ONCE},
    Point.AFTER_MARK: {"resend": Fate(1, "delivered", True, 1), "hold": Fate(0, "dead_lettered", False, 1)},
    Point.BEFORE_SEND: {"resend": Fate(1, "delivered", True, 1), "hold": Fate(0, "dead_lettered", False, 1)},
    Point.DURING_SEND: {"resend": Fate(2, "delivered", True, 1), "hold": Fate(1, "dead_lettered", False, 1)},
    Point.AFTER_SEND: {"resend": Fate(2, "delivered", True, 1), "hold": Fate(1, "dead_lettered", False, 1)},
    Point.BEFORE_ADVANCE: {"resend": Fate(2, "delivered", True, 1), "hold": Fate(1, "dead_lettered", False, 1)},
    Point.AFTER_ADVANCE: {"resend": Fate(1, "delivered", True, 1), "hold": Fate(1, "dead_lettered", False, 1)},
    Point.BEFORE_SETTLE: {"resend": Fate(2, "delivered", True, 1), "hold": Fate(1, "dead_lettered", False, 1)},
    Point.AFTER_SETTLE: {"resend": ONCE, "hold": ONCE},
    Point.BEFORE_RECLAIM: {"resend": Fate(2, "delivered", True, 1), "hold": Fate(1, "dead_lettered", False, 1)},
    Point.AFTER_RECLAIM: {"resend": Fate(2, "delivered", True, 1), "hold": Fate(1, "dead_lettered", False, 1)},
}


def points(channel: str, expected: Iterable[Point] = EXPECTED) -> list[Point]:
    return [point for point in expected if not ROUTES[channel].one_part or point not in _SEVERAL_PARTS]


class Murders:
    """
    Each process begins later than the one before it ended, by its own clock, so that every lease has run out.

    `step_seconds` is by how much.
    """

    def __init__(self, rig: Rig, channel: str, on_uncertain: str, step_seconds: float = LEASES_OVER_SECONDS) -> None:
        self._rig = rig
        self._channel = channel
        self.on_uncertain = on_uncertain
        self._step_seconds = step_seconds
        self._offset_seconds = 0.0
        self.kills = 0

    async def at(self, point: Point) -> Package:
        parts = 2 if point in _SEVERAL_PARTS else 1
        package = self._rig.package(self._channel, parts=parts, on_uncertain=self.on_uncertain)
        if point in _CLAIMED:
            await self._live(self._job(packages=(package,), works=False, until=Until.ANSWERED))
            await self._die(point, package, given=())
        elif point in _RECOVERY:
            await self._die(Point.AFTER_SEND, package)
            await self._die(point, package, given=())
        else:
            await self._die(point, package)
        await self._live(self._job(until=Until.QUIET))
        return package

    async def _die(self, point: Point, package: Package, given: tuple[Package, ...] | None = None) -> None:
        passed = Point.AFTER_SEND if point is Point.AFTER_SECOND_SEND else point
        plan = CrashPlan(point=passed, token=package.token)
        job = self._job(packages=(package,) if given is None else given, crash=plan, until=Until.TOLD)
        if point is Point.DURING_SEND:
            code = await self._shot_during_the_call(job, package)
        else:
            code = await self._rig.processes.run(job, seconds=_SECONDS)
        if code != -signal.SIGKILL:
            raise RuntimeError(f"the process did not die {point}: it ended with {code}\n{self._rig.last_words()}")
        self.kills += 1

    async def _shot_during_the_call(self, job: Job, package: Package) -> int:
        """The provider has the message and has not answered yet: only it can tell that moment."""
        provider = self._rig.counts
        await provider.arm(self._channel, delay_seconds=_SECONDS)
        victim = self._rig.processes.job(job)
        async with asyncio.timeout(_SECONDS):
            while package.token not in await provider.received():
                await asyncio.sleep(_LOOK_SECONDS)
        victim.kill()
        return await victim.ended(_SECONDS)

    async def _live(self, job: Job) -> None:
        code = await self._rig.processes.run(job, seconds=_SECONDS)
        if code != 0:
            raise RuntimeError(f"a process that was left alone ended with {code}\n{self._rig.last_words()}")

    def _job(self, **details: object) -> Job:
        self._offset_seconds += self._step_seconds
        self._rig.counts.set_clock(self._offset_seconds)
        return self._rig.job(clock_offset_seconds=self._offset_seconds, **details)


async def fate_of(rig: Rig, package: Package) -> Fate:
    copies = max((await rig.counts.received()).get(package.token, {}).values(), default=0)
    rows = [row for row in await read_rows(rig.environment) if row.token == package.token]
    if not rows:
        return Fate(copies, None, False, 0)
    (row,) = rows
    return Fate(copies, row.status, row.possible_duplicate, row.uncertain_attempts)


async def kill_steps(world: World, database: str, channel: str, on_uncertain: str) -> Result:
    most_rounds, enough = world.sized(_ROUNDS, 1), time.monotonic() + _ENOUGH_SECONDS
    complaints: list[str] = []
    open_rig = world.sqlite if database == "sqlite" else world.postgres
    async with open_rig(f"kill {channel} {on_uncertain}") as rig:
        murders = Murders(rig, channel, on_uncertain)
        for number in range(most_rounds):
            if number and time.monotonic() > enough:
                break
            complaints += await _round(rig, murders, channel, on_uncertain)
        comparison = await rig.compare(Cause.PROCESS)
    return Result(comparison=comparison, note=f"{murders.kills} kills", complaints=tuple(complaints))


async def _round(rig: Rig, murders: Murders, channel: str, on_uncertain: str) -> list[str]:
    fates = {point: await fate_of(rig, await murders.at(point)) for point in points(channel)}
    return [f"killed {point}: {fate}" for point, fate in fates.items() if fate != EXPECTED[point][on_uncertain]]


# Each database, each channel and each policy twice; `make chaos` runs all eight.
_SHORT: Final = frozenset(
    {
        ("sqlite", "telegram", "resend"),
        ("sqlite", "email", "hold"),
        ("postgres", "telegram", "hold"),
        ("postgres", "email", "resend"),
    }
)


def _scenario(database: str, channel: str, on_uncertain: str) -> Scenario:
    return Scenario(
        name=f"kill-{database}-{channel}-{on_uncertain}",
        what=f"kill -9 at each of {len(points(channel))} steps: {channel}, {database}, {on_uncertain}",
        run=partial(kill_steps, database=database, channel=channel, on_uncertain=on_uncertain),
        in_short=(database, channel, on_uncertain) in _SHORT,
        about_seconds=80.0,
    )


SCENARIOS: Final = [
    _scenario(database, channel, on_uncertain)
    for database in ("sqlite", "postgres")
    for channel in ("telegram", "email")
    for on_uncertain in ("resend", "hold")
]
