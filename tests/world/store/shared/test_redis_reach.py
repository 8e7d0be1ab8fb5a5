"""Whether Redis answers, and that nobody waits twice to find out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs
from tests.patience import PATIENCE_SECONDS
from tests.world.store.redis_server import RedisServer, own_redis
from tests.world.store.turned_clock import TurnedClock

from postroom.domain.breaker import BreakerPolicy, Report
from postroom.domain.limits import Admission
from postroom.world.store.shared.breakers_redis import RedisBreakers
from postroom.world.store.shared.hourly_cap_redis import RedisHourlyCap
from postroom.world.store.shared.limits_redis import RedisLimits
from postroom.world.store.shared.redis_reach import PAUSE_SECONDS, RedisReach
from postroom.world.store.shared.redis_script import connect


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with own_redis() as server:
        yield server


@pytest.fixture
async def client(server: RedisServer) -> AsyncIterator[Redis]:
    client = connect(server.url)
    yield client
    await client.aclose()


@pytest.fixture
def reach(client: Redis, clock: TurnedClock) -> RedisReach:
    return RedisReach(client, clock)


async def found(reach: RedisReach) -> None:
    """Until a look in the background has found it, however slow the machine is."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not reach.answers():
            await asyncio.sleep(0)


async def test_after_the_first_time_out_nobody_waits_for_a_redis_that_hangs(
    server: RedisServer, client: Redis, clock: TurnedClock, reach: RedisReach
) -> None:
    limits = RedisLimits(client, "postroom", clock, reach=reach)
    breakers = RedisBreakers(client, "postroom", BreakerPolicy(), clock, lambda: "token", reach=reach)
    cap = RedisHourlyCap(client, "postroom", clock, 10, reach=reach)
    with server.frozen():
        async with asyncio.timeout(PATIENCE_SECONDS):
            await cap.take("ada", "first", clock.now_us())
        async with asyncio.timeout(PATIENCE_SECONDS):
            for number in range(20):
                admission = Admission(channel="telegram", lease_id=str(number), max_in_flight=100, tiers=())
                assert (await limits.admit(admission)).admitted
                await breakers.report(await breakers.acquire("telegram"), Report.SUCCESS)
                await limits.reserve("telegram", "42", 1.0)
                await limits.release(str(number))
                assert await cap.take("ada", str(number), clock.now_us())
                clock.turn(PAUSE_SECONDS)
    await found(reach)

    assert not (limits.away or breakers.away or cap.away)


async def test_an_outage_and_its_end_are_said_once(server: RedisServer, clock: TurnedClock, reach: RedisReach) -> None:
    with capture_logs() as logs:
        server.stop()
        for _ in range(3):
            await reach.look()
        server.start()
        clock.turn(PAUSE_SECONDS)
        await found(reach)
        await reach.look()

    assert [(log["event"], log["log_level"]) for log in logs] == [("redis_away", "warning"), ("redis_back", "info")]


async def test_there_is_one_look_after_each_pause(server: RedisServer, clock: TurnedClock, reach: RedisReach) -> None:
    server.stop()
    await reach.look()
    server.start()

    assert not reach.answers()
    await asyncio.sleep(0)
    assert reach.away  # the pause has not passed, so nobody looks
    clock.turn(PAUSE_SECONDS)
    await found(reach)


async def test_a_clock_set_back_does_not_prolong_the_pause(
    server: RedisServer, clock: TurnedClock, reach: RedisReach
) -> None:
    server.stop()
    await reach.look()
    server.start()
    clock.turn(-3600)

    await found(reach)


async def test_a_server_that_may_not_write_counts_as_away(client: Redis, reach: RedisReach) -> None:
    await client.execute_command("REPLICAOF", "127.0.0.1", "1")
    await reach.look()
    assert reach.away

    await client.execute_command("REPLICAOF", "NO", "ONE")
    await reach.look()
    assert not reach.away
