"""SIGTERM to a household at random moments, and a new start each time."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from sqlalchemy import Connection, func, select

from chaos.household import Household
from chaos.job import Until
from chaos.processes import Overdue
from chaos.rig import Rig
from chaos.scenario import Result, Scenario, World, expectations, left_alone
from postroom.delivery.store.tables import delivery_attempts, delivery_requests
from postroom.household.store import connect_store
from postroom.kernel.values.ids import SECOND_US
from postroom.settings.load import load

_LONGEST_SECONDS: Final = 10.0
_NOTICED_SECONDS: Final = 0.5  # from the signal to its handler on a busy machine


async def sigterm(world: World) -> Result:
    rounds, number = world.sized(15, 2), world.sized(3_000, 300)
    complaints: list[str] = []
    slowest = 0.0
    async with world.sqlite("sigterm") as rig:
        stock = rig.packages(number - number // 20) + rig.packages(number // 20, "email")
        await left_alone(rig, rig.job(packages=stock, works=False, until=Until.ANSWERED))
        await rig.provider.arm("telegram", times=-1, delay_seconds=0.05)
        for _ in range(rounds):
            household = Household(rig)
            await household.up()
            await asyncio.sleep(rig.dice.uniform(0.0, 0.8))
            told_us, told = time.time_ns() // 1000, time.monotonic()
            household.child.terminate()
            try:
                code = await household.child.ended(_LONGEST_SECONDS)
            except Overdue:
                code = -1
            slowest = max(slowest, time.monotonic() - told)
            complaints += await _complaints(rig, code, told_us)
        await left_alone(rig, rig.job(limit_seconds=120.0))
        comparison = await rig.compare()
    return Result(
        comparison=comparison,
        note=f"{rounds} signals, slowest stop {slowest:.1f} s",
        complaints=(
            *complaints,
            *expectations(
                (comparison.delivered == number, "not everything was delivered"),
                (comparison.uncertain_explained == 0, "an orderly stop left outcomes unknown"),
            ),
        ),
    )


async def _complaints(rig: Rig, code: int, told_us: int) -> tuple[str, ...]:
    in_progress, late = await _after_the_signal(rig, told_us + int(_NOTICED_SECONDS * SECOND_US))
    return expectations(
        (code == 0, f"a household that was told to stop ended with {code}"),
        (in_progress == 0, f"{in_progress} deliveries were left in progress"),
        (late == 0, f"{late} attempts were begun after the signal"),
    )


async def _after_the_signal(rig: Rig, since_us: int) -> tuple[int, int]:
    def work(connection: Connection) -> tuple[int, int]:
        in_progress = select(func.count()).where(delivery_requests.c.status == "in_progress")
        late = select(func.count()).where(delivery_attempts.c.started_at > since_us)
        return connection.execute(in_progress).scalar_one(), connection.execute(late).scalar_one()

    settings, _ = load(rig.environment)
    store = connect_store(settings)
    try:
        return await store.database.read(work)
    finally:
        await store.database.close()


SCENARIOS: Final = [Scenario(name="sigterm", what="SIGTERM at random moments, and a new start", run=sigterm)]
