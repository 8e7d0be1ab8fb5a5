"""Circuit breakers in memory and in Redis: both do what the pure rules say, and what is special about Redis."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis, RedisCluster
from structlog.testing import capture_logs
from tests.support.redis_server import fresh_prefix, own_cluster, own_redis
from tests.support.turned_clock import NOON_US, TurnedClock

from postroom.delivery.rules import breaker
from postroom.delivery.rules.breaker import BreakerPolicy, Circuit, CircuitState, Permit, Report
from postroom.delivery.seams import Breakers
from postroom.delivery.store.limits import MemoryBreakers
from postroom.delivery.store.limits_redis import RedisBreakers
from postroom.kernel.database.redis_script import connect

POLICY = BreakerPolicy()
SOFT = BreakerPolicy(failure_threshold=2, recovery_seconds=10, half_open_probes=2, probe_lease_seconds=20)


def counting() -> Callable[[], str]:
    numbers = itertools.count(1)
    return lambda: f"token-{next(numbers)}"


@pytest.fixture(params=["memory", "redis"])
async def breakers(request: pytest.FixtureRequest, clock: TurnedClock) -> AsyncIterator[Breakers]:
    if request.param == "memory":
        yield MemoryBreakers(POLICY, clock, counting())
        return
    client = connect(request.getfixturevalue("redis_url"))
    breakers = on_redis(client, clock)
    yield breakers
    assert not breakers.away, "the answers came from the fallback"
    await client.aclose()


def on_redis(
    client: Redis | RedisCluster, clock: TurnedClock, policy: BreakerPolicy = POLICY, prefix: str | None = None
) -> RedisBreakers:
    return RedisBreakers(client, prefix or fresh_prefix(), policy, clock, counting(), clock_from_redis=False)


async def call(breakers: Breakers, result: Report, channel: str = "telegram") -> Circuit:
    permit = await breakers.acquire(channel)
    assert permit.allowed
    return await breakers.report(permit, result, reason="HTTP 503", error_class="target_unavailable")


async def trip(breakers: Breakers, channel: str = "telegram", failures: int = 5) -> Circuit:
    for _ in range(failures):
        circuit = await call(breakers, Report.FAILURE, channel)
    return circuit


STORED = Circuit(
    state=CircuitState.OPEN,
    failures=5,
    opened_at_us=NOON_US - 20_000_000,
    generation=7,
    reason="HTTP 503",
    error_class="target_unavailable",
)


async def test_each_channel_has_its_own_circuit(breakers: Breakers) -> None:
    await trip(breakers)
    assert (await breakers.acquire("email")).allowed
    assert await breakers.circuit("email") == Circuit()


async def test_words_are_kept_as_they_are(breakers: Breakers) -> None:
    for reason in ("é\n日本", "\x00", "probe:x", "\ud800"):
        circuit = await breakers.report(await breakers.acquire("telegram"), Report.FAILURE, reason=reason)
        assert circuit.reason == reason


async def test_of_twenty_at_once_two_are_let_through(breakers: Breakers, clock: TurnedClock) -> None:
    await trip(breakers)
    clock.turn(60)
    permits = await asyncio.gather(*(breakers.acquire("telegram") for _ in range(20)))
    allowed = [permit for permit in permits if permit.allowed]
    assert len(allowed) == 2
    assert len({permit.token for permit in allowed} - {""}) == 2
    assert {permit.retry_after_seconds for permit in permits if not permit.allowed} == {60.0}


steps = st.lists(
    st.one_of(
        st.just(("acquire",)),
        st.just(("acquire",)),
        st.tuples(st.just("report"), st.integers(0, 5), st.sampled_from(Report), st.sampled_from([None, "", "r"])),
        st.tuples(st.just("report"), st.integers(0, 5), st.just(Report.FAILURE), st.just("HTTP 503")),
        st.just(("circuit",)),
        st.tuples(st.just("restore"), st.integers(0, 4), st.sampled_from(CircuitState)),
        st.tuples(st.just("turn"), st.sampled_from([-3600.0, -1.0, 0.000_001, 0.5, 5.0, 10.0, 20.0])),
    ),
    min_size=15,
    max_size=60,
)


class Model:
    """The pure rules, and nothing else, beside the store that is tested."""

    def __init__(self, policy: BreakerPolicy) -> None:
        self.policy = policy
        self.circuit = Circuit()

    def acquire(self, now: int, token: str) -> Permit:
        """Under the name that the store gave the call; a call without one is no probe."""
        self.circuit, permit = breaker.acquire(self.circuit, self.policy, "telegram", token or "nameless", now)
        return permit

    def report(self, permit: Permit, result: Report, reason: str | None, now: int) -> Circuit:
        self.circuit = breaker.report(self.circuit, self.policy, permit, result, now, reason=reason)
        return self.seen(now)

    def seen(self, now: int) -> Circuit:
        return breaker.as_of(self.circuit, self.policy, now)

    def restore(self, circuit: Circuit) -> None:
        if circuit.generation > self.circuit.generation:
            self.circuit = circuit


def stored(ahead: int, state: CircuitState, now: int, known: Circuit) -> Circuit:
    generation = known.generation + ahead - 1
    match state:
        case CircuitState.CLOSED:
            return Circuit(failures=1, reason="stored", generation=generation)
        case CircuitState.OPEN:
            return Circuit(state=state, failures=2, opened_at_us=now - 3_000_000, generation=generation)
        case CircuitState.HALF_OPEN:
            return Circuit(state=state, failures=2, generation=generation, probes={"old": now + 4_000_000})


@pytest.mark.parametrize("kind", ["memory", "redis"])
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps)
async def test_whatever_happens_it_does_what_the_pure_rules_say(kind: str, client: Redis, steps: list[tuple]) -> None:
    clock, model = TurnedClock(), Model(SOFT)
    breakers = MemoryBreakers(SOFT, clock, counting()) if kind == "memory" else on_redis(client, clock, SOFT)
    permits: list[Permit] = []
    for step in steps:
        now = clock.now_us()
        match step:
            case ("acquire",):
                permits.insert(0, await breakers.acquire("telegram"))
                assert permits[0] == model.acquire(now, permits[0].token)
            case ("report", which, result, reason) if permits:
                permit = permits[which % len(permits)]
                assert await breakers.report(permit, result, reason=reason) == model.report(permit, result, reason, now)
            case ("restore", ahead, state):
                circuit = stored(ahead, state, now, model.circuit)
                await breakers.restore("telegram", circuit)
                model.restore(circuit)
            case ("turn", by):
                clock.turn(by)
        assert await breakers.circuit("telegram") == model.seen(clock.now_us())
    assert not getattr(breakers, "away", False)


class TestRedis:
    async def test_processes_share_one_circuit(self, client: Redis, clock: TurnedClock) -> None:
        prefix = fresh_prefix()
        one, other = on_redis(client, clock, prefix=prefix), on_redis(client, clock, prefix=prefix)
        for _ in range(2):
            await call(one, Report.FAILURE)
            await call(other, Report.FAILURE)
        assert (await call(one, Report.FAILURE)).state is CircuitState.OPEN
        assert not (await other.acquire("telegram")).allowed

    async def test_time_is_the_servers_own(self, client: Redis) -> None:
        breakers = RedisBreakers(client, fresh_prefix(), POLICY, TurnedClock(0), counting())
        circuit = await trip(breakers)
        assert circuit.opened_at_us > 1_700_000_000_000_000
        assert 55 < (await breakers.acquire("telegram")).retry_after_seconds <= 60

    async def test_a_closed_circuit_in_good_health_writes_nothing(self, client: Redis, clock: TurnedClock) -> None:
        prefix = fresh_prefix()
        await call(on_redis(client, clock, prefix=prefix), Report.SUCCESS)
        assert [key async for key in client.scan_iter(match=f"*{prefix}*")] == []

    async def test_the_script_is_loaded_again_after_it_was_flushed(self, client: Redis, clock: TurnedClock) -> None:
        breakers = on_redis(client, clock)
        await trip(breakers, failures=4)
        await client.script_flush()
        assert (await call(breakers, Report.FAILURE)).state is CircuitState.OPEN
        assert not breakers.away

    async def test_works_on_a_cluster(self, clock: TurnedClock) -> None:
        with own_cluster() as server:
            cluster = RedisCluster.from_url(server.url)
            breakers = on_redis(cluster, clock)
            assert (await trip(breakers)).state is CircuitState.OPEN
            assert not breakers.away
            await cluster.aclose()


class TestWhenRedisIsAway:
    async def test_the_circuit_goes_on_from_what_was_known(self, clock: TurnedClock) -> None:
        with own_redis() as server, capture_logs() as logs:
            client = connect(server.url)
            breakers = on_redis(client, clock)
            await trip(breakers, failures=3)
            permit = await breakers.acquire("telegram")
            server.stop()
            assert (await breakers.report(permit, Report.FAILURE)).failures == 4
            assert (await call(breakers, Report.FAILURE)).state is CircuitState.OPEN
            assert not (await breakers.acquire("telegram")).allowed
            assert (await breakers.circuit("telegram")).state is CircuitState.OPEN
            assert breakers.away
            await client.aclose()
        assert [(log["event"], log["log_level"]) for log in logs] == [("redis_away", "warning")]
        assert "503" not in str(logs)

    async def test_an_empty_server_learns_what_was_known(self, clock: TurnedClock) -> None:
        with own_redis() as server:
            client = connect(server.url)
            prefix = fresh_prefix()
            breakers = on_redis(client, clock, prefix=prefix)
            opened = await trip(breakers)
            server.stop()
            assert not (await breakers.acquire("telegram")).allowed
            server.start()
            clock.turn(1)
            await breakers.reach.look()
            assert await breakers.circuit("telegram") == opened
            assert not breakers.away
            other = on_redis(client, clock, prefix=prefix)
            assert await other.circuit("telegram") == opened
            await client.aclose()

    async def test_what_others_found_out_meanwhile_wins(self, clock: TurnedClock) -> None:
        with own_redis("--appendonly", "yes", "--appendfsync", "always") as server:
            client = connect(server.url)
            prefix = fresh_prefix()
            breakers, other = on_redis(client, clock, prefix=prefix), on_redis(client, clock, prefix=prefix)
            await trip(other, failures=1)
            server.stop()
            assert (await trip(breakers, failures=2)).failures == 2
            server.start()
            opened = await trip(other, failures=4)
            await breakers.reach.look()
            assert await breakers.circuit("telegram") == opened
            await client.aclose()

    async def test_restoring_works_without_it(self, clock: TurnedClock) -> None:
        with own_redis() as server:
            client = connect(server.url)
            breakers = on_redis(client, clock)
            server.stop()
            await breakers.restore("telegram", STORED)
            assert await breakers.circuit("telegram") == STORED
            await client.aclose()
