"""Whether Redis answers, and that nobody waits twice to find out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs
from tests.patience import PATIENCE_SECONDS
from tests.support.redis_server import RedisServer, own_redis
from tests.support.turned_clock import TurnedClock

from postroom.delivery.rules.breaker import BreakerPolicy, Report
from postroom.delivery.rules.limits import Admission
from postroom.delivery.store.limits_redis import RedisBreakers, RedisLimits
from postroom.inbox.store.hourly_cap_redis import RedisHourlyCap
from postroom.kernel.database import redis_script
from postroom.kernel.database.redis_script import PAUSE_SECONDS, RedisAway, RedisReach, RedisScript, connect, text


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


@pytest.fixture
def script(client: Redis, reach: RedisReach) -> RedisScript:
    return RedisScript(client, "limits", reach)


async def reserve(script: RedisScript, address: str = "42", now_us: int = 1_000_000) -> int:
    """A call that writes: the first to an address gets 0, the next at the same moment its wait."""
    keys = ["{t}:in-flight", "{t}:throttles", f"{{t}}:pace:{address}"]
    answer = await script.run(keys, ["reserve", now_us, "telegram", 500_000])
    return int(answer[0])


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is not a server that is away."""
    monkeypatch.setattr(redis_script, "TIMEOUT_SECONDS", 20.0)


async def test_callers_that_wait_together_share_a_round_trip(patient: None, script: RedisScript, client: Redis) -> None:
    before = (await client.info("stats"))["total_reads_processed"]
    await asyncio.gather(*(reserve(script, str(number)) for number in range(200)))
    assert (await client.info("stats"))["total_reads_processed"] - before < 40


async def test_a_cancelled_caller_does_not_disturb_the_others(script: RedisScript) -> None:
    calls = [asyncio.create_task(reserve(script, str(number))) for number in range(5)]
    await asyncio.sleep(0)
    calls[2].cancel()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [answer == 0 for answer in answers] == [True, True, False, True, True]


async def test_the_script_is_loaded_again_after_it_was_flushed(
    script: RedisScript, client: Redis, reach: RedisReach
) -> None:
    await reserve(script)
    await client.script_flush()
    assert await asyncio.gather(reserve(script), reserve(script, "43")) == [500_000, 0]
    assert not reach.away


async def test_a_server_that_lost_everything_is_no_outage_once_it_is_back(
    script: RedisScript, server: RedisServer, reach: RedisReach
) -> None:
    await reserve(script)
    server.stop()
    server.start()
    assert await reserve(script) == 0
    assert not reach.away


async def test_while_it_is_away_the_first_call_is_the_last_that_tries(
    script: RedisScript, server: RedisServer, clock: TurnedClock, reach: RedisReach
) -> None:
    server.stop()
    assert await attempts(script, 3) == [True, False, False]
    clock.turn(PAUSE_SECONDS)
    assert await attempts(script, 3) == [False, False, False]
    server.start()
    await reach.look()
    assert await reserve(script) == 0


async def test_a_server_that_does_not_answer_fails_everyone_who_waits_together(
    script: RedisScript, server: RedisServer, reach: RedisReach
) -> None:
    await reserve(script)
    with server.frozen():
        async with asyncio.timeout(PATIENCE_SECONDS):
            calls = (reserve(script, str(number)) for number in range(300))
            answers = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(answer, RedisAway) and answer.attempted for answer in answers)
    await reach.look()
    assert await reserve(script, "late answers went to nobody") == 0


@pytest.mark.parametrize("value", [b"caf\xc3\xa9", "café"], ids=["bytes", "decoded"])
def test_text_is_text_whichever_way_the_client_decodes(value: str | bytes) -> None:
    assert text(value) == "café"


async def attempts(script: RedisScript, calls: int) -> list[bool]:
    made = []
    for _ in range(calls):
        with pytest.raises(RedisAway) as away:
            await reserve(script)
        made.append(away.value.attempted)
    return made
