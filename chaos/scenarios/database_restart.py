"""PostgreSQL goes away under load and comes back, again and again."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.services.postgres import PostgresServer

from chaos.answered import all_answered, under_way
from chaos.job import Until
from chaos.ledger_compare import Cause
from chaos.scenario import Result, Scenario, World, expectations, recover, stop_orderly

_WORKERS: Final = 2


async def database_restart(world: World) -> Result:
    restarts, each = world.sized(20, 2), world.sized(1_500, 120)
    with tempfile.TemporaryDirectory(prefix="postroom-chaos-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        server = PostgresServer(Path(name) / "postgres")
        server.start()
        try:
            return await _under_load(replace(world, postgres_url=server.url()), server, restarts, each)
        finally:
            server.kill()


async def _under_load(world: World, server: PostgresServer, restarts: int, each: int) -> Result:
    async with world.postgres("restart") as rig:
        shares = [rig.packages(each) for _ in range(_WORKERS)]
        job = rig.job(until=Until.TOLD, at_once=8, pause_seconds=0.1, limit_seconds=300.0)
        workers = [rig.processes.job(replace(job, packages=share)) for share in shares]
        await under_way(rig)
        for number in range(restarts):
            await asyncio.sleep(rig.dice.uniform(0.4, 1.2))
            (server.stop if number % 4 == 3 else server.kill)()
            server.start()
        await all_answered(rig, [package for share in shares for package in share], seconds=120.0)
        survivors = sum(worker.alive for worker in workers)
        ends = await stop_orderly(rig, workers)
        await recover(rig)
        comparison = await rig.compare(Cause.STORE, Cause.PROCESS)
    return Result(
        comparison=comparison,
        note=f"{restarts} restarts, {_WORKERS} workers",
        complaints=(
            *ends,
            *expectations(
                (survivors == _WORKERS, "a worker did not outlive the restarts"),
                (comparison.delivered == comparison.accepted == each * _WORKERS, "not everything was delivered"),
            ),
        ),
    )


SCENARIOS: Final = [
    Scenario(name="postgres-restart", what="PostgreSQL stopped at once and restarted, under load", run=database_restart)
]
