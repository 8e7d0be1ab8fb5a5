"""Workers on one PostgreSQL, killed at random while they are busy."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from chaos.answered import all_answered, answered
from chaos.errand import Parcel, Until
from chaos.ground import Ground
from chaos.ledger_compare import Cause
from chaos.nursery import Child
from chaos.scenario import Result, Scenario, World, expectations, recover

_WORKERS: Final = 3
_SLOTS: Final = 32


@dataclass(slots=True)
class _Desk:
    """One place at which a worker sits; when it dies, another takes over the same messages."""

    parcels: tuple[Parcel, ...]
    worker: Child | None = None


async def random_kills(world: World) -> Result:
    deliveries, kills = world.sized(10_000, 300), world.sized(60, 6)
    async with world.postgres("random kills") as ground:
        desks = [_Desk(_share(ground, deliveries, place)) for place in range(_WORKERS)]
        for _ in range(kills):
            _seat(ground, desks)
            await asyncio.sleep(ground.dice.uniform(0.1, 0.6) if world.short else ground.dice.uniform(0.5, 1.5))
            _kill(ground.dice.choice(desks))
        _seat(ground, desks)
        await all_answered(ground, [parcel for desk in desks for parcel in desk.parcels], seconds=180.0)
        for desk in desks:
            _kill(desk)
        await recover(ground)
        comparison = await ground.compare(Cause.PROCESS)
    most = (kills + _WORKERS) * _SLOTS * 2
    return Result(
        comparison=comparison,
        note=f"{kills + _WORKERS} kills, {_WORKERS} workers",
        complaints=expectations(
            (comparison.accepted == deliveries, "some messages were never accepted"),
            (comparison.uncertain_explained <= most, "more outcomes are unknown than calls were under way"),
        ),
    )


def _share(ground: Ground, deliveries: int, place: int) -> tuple[Parcel, ...]:
    number = deliveries // _WORKERS + (place < deliveries % _WORKERS)
    few_mails = number // 10  # a mail is a visit of its own and costs the sandbox ten times as much
    return ground.parcels(number - few_mails) + ground.parcels(few_mails, "email")


def _seat(ground: Ground, desks: list[_Desk]) -> None:
    """A careful caller hands in again what has not been answered."""
    done = answered(ground)
    for desk in desks:
        if desk.worker is None or not desk.worker.alive:
            left = tuple(parcel for parcel in desk.parcels if parcel.token not in done)
            desk.worker = ground.nursery.errand(
                ground.errand(parcels=left, until=Until.TOLD, limit_seconds=300.0, at_once=24)
            )


def _kill(desk: _Desk) -> None:
    """A killed process may still look alive for a moment, so the place counts as empty from now on."""
    worker, desk.worker = desk.worker, None
    if worker is not None:
        worker.kill()


SCENARIOS: Final = [
    Scenario(name="random-kills", what="kill -9 of workers at random under load, postgres", run=random_kills)
]
