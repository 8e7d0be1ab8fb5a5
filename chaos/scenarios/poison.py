"""A message that kills every process that tries to send it."""

from __future__ import annotations

from typing import Final

from chaos.crash_points import CrashPlan, Point
from chaos.ledger_compare import Cause
from chaos.scenario import Result, Scenario, World, expectations, left_alone


async def poison(world: World) -> Result:
    """One message kills whoever tries to send it; it must not take the others with it for ever."""
    others, most_deaths = world.sized(60, 12), 3
    deaths = 0
    async with world.sqlite("poison") as rig:
        bad = rig.package()
        plan = CrashPlan(point=Point.BEFORE_SEND, token=bad.token)
        job = rig.job(packages=(bad, *rig.packages(others)), crash=plan)
        while await rig.processes.run(job) != 0 and deaths <= most_deaths:
            deaths += 1
        await left_alone(rig, rig.job())
        comparison = await rig.compare(Cause.PROCESS)
    return Result(
        comparison=comparison,
        note=f"{deaths} workers died of it",
        complaints=expectations(
            (deaths <= most_deaths, "the message went on killing"),
            (comparison.held >= 1, "the message was not put aside"),
            # one that was being sent at each of those deaths has used up its attempts, too, and is held with it
            (comparison.delivered + comparison.held == others + 1, "other messages were left behind"),
        ),
    )


SCENARIOS: Final = [Scenario(name="poison", what="a message that kills whoever sends it", run=poison)]
