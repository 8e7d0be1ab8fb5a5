"""The machine's clock is set forwards or back while messages are under way."""

from __future__ import annotations

from functools import partial
from typing import Final

from chaos.ledger_compare import Cause
from chaos.processes import Overdue
from chaos.scenario import Result, Scenario, World, expectations

_JUMPS: Final = {"+1 h": 3_600.0, "-1 h": -3_600.0, "+1 day": 86_400.0, "-1 day": -86_400.0}
_SECONDS: Final = 40.0


async def clock_jumps(world: World, database: str) -> Result:
    number = world.sized(120, 24)
    found, complaints = None, list[str]()
    jumps = dict(list(_JUMPS.items())[:: 3 if world.short and database == "postgres" else 1])
    for name, jump in jumps.items():
        open_rig = world.sqlite if database == "sqlite" else world.postgres
        async with open_rig(f"clock {name}") as rig:
            await rig.provider.arm("telegram", times=number // 4, status=503)
            job = rig.job(packages=rig.packages(number), jump_seconds=jump, at_once=8, limit_seconds=_SECONDS)
            try:
                code = await rig.processes.run(job, seconds=_SECONDS)
            except Overdue:
                code = 1
            comparison = await rig.compare(Cause.CLOCK)
            found = comparison if found is None else found + comparison
            complaints += expectations(
                (code == 0, f"{name}: not everything was settled within {_SECONDS:.0f} s"),
                (comparison.delivered + comparison.held == number, f"{name}: some deliveries have no outcome"),
            )
    assert found is not None
    return Result(comparison=found, note=f"{len(jumps)} jumps: {', '.join(jumps)}", complaints=tuple(complaints))


SCENARIOS: Final = [
    Scenario(
        name=f"clock-{database}",
        what=f"the clock jumps while working, {database}",
        run=partial(clock_jumps, database=database),
    )
    for database in ("sqlite", "postgres")
]
