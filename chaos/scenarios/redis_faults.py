"""Redis, which only shares limits and circuits, is killed, emptied or was never there."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final

from redis.asyncio import Redis
from tests.services.ports import free_port
from tests.services.redis import RedisServer

from chaos.answered import all_answered
from chaos.job import Until
from chaos.scenario import Result, Scenario, World, expectations, left_alone, stop_orderly

_WORKERS: Final = 2

Harm = Callable[[RedisServer], Awaitable[None]]


async def kill(server: RedisServer) -> None:
    server.kill()
    await asyncio.sleep(0.3)
    server.start()


async def flush(server: RedisServer) -> None:
    client = Redis.from_url(server.url())
    await client.flushall()
    await client.script_flush()  # as after a restart
    await client.aclose()


async def redis_fault(world: World, harm: Harm) -> Result:
    with tempfile.TemporaryDirectory(prefix="postroom-chaos-", ignore_cleanup_errors=True) as name:
        server = RedisServer(Path(name) / "redis")
        server.start()
        try:
            return await _under_load(world, server, harm)
        finally:
            server.kill()


async def _under_load(world: World, server: RedisServer, harm: Harm) -> Result:
    times, each = world.sized(20, 3), world.sized(600, 80)
    async with world.postgres("redis") as plain:
        rig = plain.having(redis_url=server.url())
        shares = [rig.packages(each) for _ in range(_WORKERS)]
        workers = [
            rig.processes.job(
                rig.job(packages=share, until=Until.TOLD, at_once=4, pause_seconds=0.05, limit_seconds=200.0)
            )
            for share in shares
        ]
        for _ in range(times):
            await asyncio.sleep(rig.dice.uniform(0.1, 0.6))
            await harm(server)
        await all_answered(rig, [package for share in shares for package in share], seconds=120.0)
        ends = await stop_orderly(rig, workers)
        await left_alone(rig, rig.job(limit_seconds=60.0))
        comparison = await rig.compare()
    everything = comparison.delivered == comparison.accepted == each * _WORKERS
    return Result(
        comparison=comparison,
        note=f"{times} times, {_WORKERS} workers",
        complaints=(*ends, *expectations((everything, "not everything was delivered"))),
    )


async def redis_absent(world: World) -> Result:
    number = world.sized(500, 60)
    async with world.postgres("no redis") as plain:
        rig = plain.having(redis_url=f"redis://127.0.0.1:{free_port()}/0")
        await left_alone(rig, rig.job(packages=rig.packages(number), limit_seconds=90.0))
        comparison = await rig.compare()
    return Result(
        comparison=comparison,
        complaints=expectations((comparison.delivered == number, "not everything was delivered")),
    )


SCENARIOS: Final = [
    Scenario(name="redis-kill", what="Redis killed and restarted under load", run=partial(redis_fault, harm=kill)),
    Scenario(name="redis-flushall", what="Redis emptied under load (FLUSHALL)", run=partial(redis_fault, harm=flush)),
    Scenario(name="redis-absent", what="Redis configured and not there", run=redis_absent),
]
