"""Workers on one PostgreSQL, killed at random while they are busy."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from chaos.answered import all_answered, answered
from chaos.job import Package, Until
from chaos.ledger_compare import Cause
from chaos.processes import Child
from chaos.rig import Rig
from chaos.scenario import Result, Scenario, World, expectations, recover

_WORKERS: Final = 3
_SLOTS: Final = 32


@dataclass(slots=True)
class _Desk:
    """One place at which a worker sits; when it dies, another takes over the same messages."""

    packages: tuple[Package, ...]
    worker: Child | None = None


async def random_kills(world: World) -> Result:
    deliveries, kills = world.sized(10_000, 300), world.sized(60, 6)
    async with world.postgres("random kills") as rig:
        desks = [_Desk(_share(rig, deliveries, place)) for place in range(_WORKERS)]
        for _ in range(kills):
            _seat(rig, desks)
            await asyncio.sleep(rig.dice.uniform(0.1, 0.6) if world.short else rig.dice.uniform(0.5, 1.5))
            _kill(rig.dice.choice(desks))
        _seat(rig, desks)
        await all_answered(rig, [package for desk in desks for package in desk.packages], seconds=180.0)
        for desk in desks:
            _kill(desk)
        await recover(rig)
        comparison = await rig.compare(Cause.PROCESS)
    most = (kills + _WORKERS) * _SLOTS * 2
    return Result(
        comparison=comparison,
        note=f"{kills + _WORKERS} kills, {_WORKERS} workers",
        complaints=expectations(
            (comparison.accepted == deliveries, "some messages were never accepted"),
            (comparison.uncertain_explained <= most, "more outcomes are unknown than calls were under way"),
        ),
    )


def _share(rig: Rig, deliveries: int, place: int) -> tuple[Package, ...]:
    number = deliveries // _WORKERS + (place < deliveries % _WORKERS)
    few_mails = number // 10  # a mail is a visit of its own and costs the sandbox ten times as much
    return rig.packages(number - few_mails) + rig.packages(few_mails, "email")


def _seat(rig: Rig, desks: list[_Desk]) -> None:
    """A careful caller hands in again what has not been answered."""
    done = answered(rig)
    for desk in desks:
        if desk.worker is None or not desk.worker.alive:
            left = tuple(package for package in desk.packages if package.token not in done)
            desk.worker = rig.processes.job(rig.job(packages=left, until=Until.TOLD, limit_seconds=300.0, at_once=24))


def _kill(desk: _Desk) -> None:
    """A killed process may still look alive for a moment, so the place counts as empty from now on."""
    worker, desk.worker = desk.worker, None
    if worker is not None:
        worker.kill()


SCENARIOS: Final = [
    Scenario(
        name="random-kills",
        what="kill -9 of workers at random under load, postgres",
        run=random_kills,
        about_seconds=90.0,
    )
]
