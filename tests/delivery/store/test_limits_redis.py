"""Admission limits and pacing: one suite for memory and Redis, and what is special about each."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis, RedisCluster
from tests.support import hammer_limits
from tests.support.admissions import asking, available, place
from tests.support.redis_server import fresh_prefix, own_cluster
from tests.support.turned_clock import TurnedClock

from postroom.delivery.rules.limits import LEASE_US, Admission, LimitType, Share, Tier
from postroom.delivery.seams import Limits
from postroom.delivery.store.limits import MemoryLimits
from postroom.delivery.store.limits_redis import RedisLimits
from postroom.kernel.database.redis_script import connect
from postroom.kernel.values.ids import SECOND_US

ROOT = Path(__file__).parents[3]


@pytest.fixture(params=["memory", "redis"])
async def limits(request: pytest.FixtureRequest, clock: TurnedClock) -> AsyncIterator[Limits]:
    if request.param == "memory":
        yield MemoryLimits(clock)
        return
    client = connect(request.getfixturevalue("redis_url"))
    limits = RedisLimits(client, fresh_prefix(), clock, clock_from_redis=False)
    yield limits
    assert not limits.away, "the answers came from the fallback"
    await client.aclose()


class TestAdmission:
    async def test_the_eleventh_to_one_recipient_is_refused_until_a_token_is_back(
        self, limits: Limits, clock: TurnedClock
    ) -> None:
        for _ in range(10):
            assert (await limits.admit(asking())).admitted
        refused = await limits.admit(asking())
        assert (refused.admitted, refused.limit_type, refused.retry_after_seconds) == (False, LimitType.RECIPIENT, 6.0)
        clock.turn(5.999_999)
        assert not (await limits.admit(asking())).admitted
        clock.turn(0.000_001)
        assert (await limits.admit(asking())).admitted

    async def test_a_refusal_consumes_nothing(self, limits: Limits) -> None:
        for _ in range(10):
            await limits.admit(asking())
        for _ in range(50):
            refused = await limits.admit(asking("another"))
        assert available(refused) == [50.0, 20.0, 0.0]
        assert available(await limits.admit(asking(recipient="bob"), consume=False)) == [50.0, 20.0, 10.0]

    async def test_the_first_limit_that_refuses_names_the_refusal_and_the_longest_wait_is_the_hint(
        self, limits: Limits
    ) -> None:
        for number in range(10):
            await limits.admit(asking())
            await limits.admit(asking(recipient="bob"))
            await limits.admit(asking(recipient=f"r{number}"))
        refused = await limits.admit(asking())
        assert (refused.limit_type, refused.retry_after_seconds) == (LimitType.CHANNEL, 6.0)
        await limits.throttle("telegram", 3)
        refused = await limits.admit(asking())
        assert (refused.limit_type, refused.retry_after_seconds) == (LimitType.PROVIDER, 6.0)

    async def test_asking_without_consuming_changes_nothing_and_answers_the_same(self, limits: Limits) -> None:
        for _ in range(100):
            asked = await limits.admit(asking("dry", max_in_flight=1), consume=False)
        assert (asked.admitted, asked.in_flight, available(asked)) == (True, 0, [60.0, 30.0, 10.0])
        for _ in range(10):
            await limits.admit(asking())
        assert await limits.admit(asking("x"), consume=False) == await limits.admit(asking("x"))

    async def test_two_tiers_of_one_name_are_two_buckets(self, limits: Limits) -> None:
        tiers = (Tier(LimitType.GLOBAL, "x", 5), Tier(LimitType.CHANNEL, "x", 5))
        decision = await limits.admit(Admission(lease_id="d1", channel="telegram", tiers=tiers))
        assert available(decision) == [4.0, 4.0]

    async def test_exotic_names_are_only_names(self, limits: Limits) -> None:
        for recipient in ("", "a b", "{x}", "é\n\x00", "日本", "\ud800"):
            assert available(await limits.admit(asking(recipient=recipient)))[2] == 9.0


class TestPlacesInFlight:
    async def test_a_place_is_taken_until_it_is_released(self, limits: Limits) -> None:
        assert [(await limits.admit(place(name))).in_flight for name in ("a", "b")] == [1, 2]
        refused = await limits.admit(place("c"))
        assert (refused.limit_type, refused.retry_after_seconds, refused.in_flight) == (LimitType.IN_FLIGHT, 1.0, 2)
        await limits.release("a")
        assert (await limits.admit(place("c"))).admitted

    async def test_releasing_twice_or_what_was_never_taken_is_harmless(self, limits: Limits) -> None:
        await limits.admit(place("a"))
        for name in ("a", "a", "never"):
            await limits.release(name)
        assert (await limits.admit(place("b"), consume=False)).in_flight == 0

    async def test_a_delivery_that_holds_a_place_needs_no_other(self, limits: Limits) -> None:
        for name in ("a", "b", "a", "a"):
            decision = await limits.admit(place(name))
            assert decision.admitted
        assert decision.in_flight == 2

    async def test_a_lost_place_comes_back_when_its_lease_ends(self, limits: Limits, clock: TurnedClock) -> None:
        await limits.admit(place("a"))
        clock.turn(LEASE_US / SECOND_US - 1)
        await limits.admit(place("b"))
        assert not (await limits.admit(place("c"))).admitted
        clock.turn(1)
        assert (await limits.admit(place("c"))).in_flight == 2

    async def test_asking_again_renews_the_lease(self, limits: Limits, clock: TurnedClock) -> None:
        await limits.admit(place("a"))
        await limits.admit(place("b"))
        clock.turn(300)
        await limits.admit(place("a"))
        clock.turn(LEASE_US / SECOND_US - 300)
        assert (await limits.admit(place("c"), consume=False)).in_flight == 1

    async def test_a_refused_delivery_takes_no_place(self, limits: Limits) -> None:
        await limits.throttle("telegram", 10)
        assert (await limits.admit(place("a"))).in_flight == 0


class TestRefund:
    async def test_gives_tokens_and_place_back(self, limits: Limits) -> None:
        await limits.admit(asking("a", max_in_flight=5))
        await limits.admit(asking("b", cost_millis=500, max_in_flight=5))
        await limits.refund(asking("b", cost_millis=500))
        decision = await limits.admit(asking("c"), consume=False)
        assert (available(decision), decision.in_flight) == ([59.0, 29.0, 9.0], 1)

    async def test_a_second_refund_gives_nothing(self, limits: Limits) -> None:
        for name in ("a", "b", "c"):
            await limits.admit(asking(name))
        for _ in range(3):
            await limits.refund(asking("a"))
        assert available(await limits.admit(asking(), consume=False)) == [58.0, 28.0, 8.0]

    async def test_of_something_never_admitted_gives_nothing(self, limits: Limits) -> None:
        await limits.admit(asking("a"))
        await limits.refund(asking("refused"))
        assert available(await limits.admit(asking(), consume=False)) == [59.0, 29.0, 9.0]


class TestProviderThrottle:
    async def test_blocks_its_channel_until_the_time_is_over(self, limits: Limits, clock: TurnedClock) -> None:
        await limits.throttle("telegram", 30)
        refused = await limits.admit(asking())
        assert (refused.limit_type, refused.retry_after_seconds) == (LimitType.PROVIDER, 30.0)
        assert available(refused) == [60.0, 30.0, 10.0]
        assert (await limits.admit(asking(channel="email"))).admitted
        clock.turn(30)
        assert (await limits.admit(asking())).admitted

    async def test_is_extended_but_never_shortened(self, limits: Limits, clock: TurnedClock) -> None:
        await limits.throttle("telegram", 30)
        await limits.throttle("telegram", 5)
        assert await limits.throttles() == {"telegram": 30.0}
        clock.turn(20)
        await limits.throttle("telegram", 30)
        assert await limits.throttles() == {"telegram": 30.0}

    async def test_lists_those_that_still_hold(self, limits: Limits, clock: TurnedClock) -> None:
        await limits.throttle("telegram", 30)
        await limits.throttle("e-mail ü", 60.5)
        await limits.throttle("never", 0)
        assert await limits.throttles() == {"telegram": 30.0, "e-mail ü": 60.5}
        clock.turn(30)
        assert await limits.throttles() == {"e-mail ü": 30.5}


class TestPace:
    async def test_messages_to_one_address_keep_their_distance(self, limits: Limits, clock: TurnedClock) -> None:
        assert await limits.reserve("telegram", "42", 1.0) == 0
        clock.turn(0.25)
        assert await limits.reserve("telegram", "42", 1.0) == 0.75
        clock.turn(0.75)
        assert await limits.reserve("telegram", "42", 1.0) == 0

    async def test_being_told_to_wait_reserves_nothing(self, limits: Limits, clock: TurnedClock) -> None:
        await limits.reserve("telegram", "42", 1.0)
        for _ in range(9):
            clock.turn(0.1)
            assert await limits.reserve("telegram", "42", 1.0) > 0
        clock.turn(0.1)
        assert await limits.reserve("telegram", "42", 1.0) == 0

    async def test_other_addresses_and_channels_are_free(self, limits: Limits) -> None:
        pairs = [("telegram", "42"), ("telegram", "43"), ("email", "42"), ("a:b", "c"), ("a", "b:c")]
        assert [await limits.reserve(*pair, 1.0) for pair in pairs] == [0, 0, 0, 0, 0]

    async def test_the_interval_asked_for_now_is_the_one_that_counts(self, limits: Limits, clock: TurnedClock) -> None:
        await limits.reserve("telegram", "42", 60.0)
        clock.turn(2)
        assert await limits.reserve("telegram", "42", 3.0) == 1.0
        assert await limits.reserve("telegram", "42", 1.0) == 0

    async def test_a_throttled_channel_says_how_long_and_reserves_nothing(
        self, limits: Limits, clock: TurnedClock
    ) -> None:
        await limits.throttle("telegram", 7)
        assert await limits.reserve("telegram", "42", 1.0) == 7.0
        clock.turn(7)
        assert await limits.reserve("telegram", "42", 1.0) == 0


class TestAClockThatWasAnHourAhead:
    """Everything is written in the wrong future; then the clock is corrected."""

    async def test_does_not_block_places_for_an_hour(self, limits: Limits, clock: TurnedClock) -> None:
        await limits.admit(place("a", 1))
        clock.turn(-3600)
        assert not (await limits.admit(place("b", 1))).admitted
        clock.turn(LEASE_US / SECOND_US)
        assert (await limits.admit(place("b", 1))).admitted

    async def test_does_not_throttle_for_an_hour(self, limits: Limits, clock: TurnedClock) -> None:
        await limits.throttle("telegram", 30)
        clock.turn(-3600)
        assert (await limits.admit(asking())).retry_after_seconds == 30.0
        clock.turn(30)
        assert await limits.throttles() == {}

    async def test_does_not_hold_an_address_for_an_hour(self, limits: Limits, clock: TurnedClock) -> None:
        await limits.reserve("telegram", "42", 1.0)
        clock.turn(-3600)
        assert await limits.reserve("telegram", "42", 1.0) == 1.0
        clock.turn(1)
        assert await limits.reserve("telegram", "42", 1.0) == 0


def of(sender: str, *, urgent: bool = False, recipient: str = "alice") -> Admission:
    """To a recipient whose own limit, of ten, is the only one that matters."""
    tiers = (Tier(LimitType.GLOBAL, "wide", 1000), Tier(LimitType.RECIPIENT, recipient, 10, reserve=2))
    return Admission(lease_id="", channel="telegram", tiers=tiers, share=Share.of(tiers, sender, urgent=urgent))


class TestFairShares:
    async def test_a_sender_that_is_alone_has_all_of_the_limit_and_no_more(self, limits: Limits) -> None:
        plain = [(await limits.admit(of("ci"))).admitted for _ in range(11)]
        urgent = [(await limits.admit(of("ci", urgent=True, recipient="bob"))).admitted for _ in range(11)]
        assert plain == urgent == [True] * 10 + [False]

    async def test_an_alarm_of_another_passes_where_one_sender_has_used_the_limit_up(self, limits: Limits) -> None:
        for _ in range(12):
            await limits.admit(of("ci"))
        plain = await limits.admit(of("health"))
        alarms = [(await limits.admit(of("health", urgent=True))).admitted for _ in range(3)]
        assert (plain.admitted, plain.limit_type, plain.retry_after_seconds) == (False, LimitType.RECIPIENT, 6.0)
        assert alarms == [True, True, False]

    async def test_a_sender_has_half_while_another_waits_and_all_again_when_nobody_does(
        self, limits: Limits, clock: TurnedClock
    ) -> None:
        got = {"ci": 0, "health": 0}
        for _ in range(600):  # a second apart both try; ci tries first and much more often
            clock.turn(1)
            for sender in ("ci", "ci", "ci", "health"):
                got[sender] += (await limits.admit(of(sender))).admitted
        assert abs(got["ci"] - got["health"]) <= 12
        assert sum(got.values()) in (109, 110)
        clock.turn(61)
        assert [(await limits.admit(of("ci"))).admitted for _ in range(11)] == [True] * 10 + [False]

    async def test_a_flood_of_alarms_is_held_to_half_while_another_waits(
        self, limits: Limits, clock: TurnedClock
    ) -> None:
        got = {"ci": 0, "health": 0}
        for _ in range(300):
            clock.turn(1)
            for sender, urgent in (("ci", True), ("ci", True), ("health", False)):
                got[sender] += (await limits.admit(of(sender, urgent=urgent))).admitted
        assert got["health"] >= 20

    async def test_what_is_asked_and_not_taken_and_what_is_given_back_counts_for_nobody(self, limits: Limits) -> None:
        for _ in range(10):
            await limits.admit(of("ci"))
        await limits.admit(of("health"), consume=False)
        asked = replace(of("other", recipient="bob"), lease_id="d9")
        for _ in range(9):
            await limits.admit(asked)
            await limits.refund(asked)
        assert [(await limits.admit(of("other", recipient="bob"))).admitted for _ in range(11)] == [True] * 10 + [False]


class TestExactUnderConcurrency:
    @pytest.mark.parametrize(
        ("per_minute", "cost_millis", "max_in_flight", "expected"),
        [
            pytest.param(300, 1000, 0, 300, id="messages"),
            pytest.param(300, 500, 0, 600, id="replies"),
            pytest.param(5000, 1000, 100, 100, id="places in flight"),
        ],
    )
    async def test_four_processes_of_thirty_two_tasks_together_get_exactly_the_limit(
        self, redis_url: str, per_minute: int, cost_millis: int, max_in_flight: int, expected: int
    ) -> None:
        prefix = fresh_prefix()
        numbers = [str(number) for number in (per_minute, cost_millis, max_in_flight)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
        processes = [
            await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", hammer_limits.__name__, redis_url, prefix, f"p{number}", *numbers),
                cwd=ROOT,
                env=environment,
                stdout=asyncio.subprocess.PIPE,
            )
            for number in range(4)
        ]
        async with asyncio.timeout(60):
            outputs = await asyncio.gather(*(process.communicate() for process in processes))
        assert [process.returncode for process in processes] == [0, 0, 0, 0]
        assert sum(int(out) for out, _ in outputs) == expected


operations = st.one_of(
    st.tuples(
        st.just("admit"),
        st.sampled_from(["a", "b", "c", ""]),
        st.sampled_from(["x", "y"]),
        st.sampled_from([1000, 500, 333]),
        st.sampled_from([0, 1, 2]),
        st.booleans(),
        st.sampled_from([None, ("p", False), ("q", False), ("p", True), ("q", True)]),
    ),
    st.tuples(st.just("release"), st.sampled_from(["a", "b", "c"])),
    st.tuples(
        st.just("refund"), st.sampled_from(["a", "b", "c"]), st.sampled_from(["x", "y"]), st.sampled_from(["p", "q"])
    ),
    st.tuples(st.just("throttle"), st.sampled_from(["telegram", "email"]), st.sampled_from([0.0, 0.5, 20.0])),
    st.tuples(st.just("throttles")),
    st.tuples(st.just("reserve"), st.sampled_from(["1", "2"]), st.sampled_from([0.0, 0.3, 1.0])),
    st.tuples(st.just("turn"), st.floats(-5000, 5000) | st.sampled_from([0.000_001, 0.1, 1.0, 13.0, 60.0, 600.0])),
)


async def carry_out(limits: Limits, operation: tuple) -> object:
    def ask(
        lease_id: str, recipient: str, cost: int = 1000, most: int = 0, sender: tuple[str, bool] | None = None
    ) -> Admission:
        tiers = (Tier(LimitType.GLOBAL, "all", 17), Tier(LimitType.RECIPIENT, recipient, 5, reserve=1))
        share = Share.of(tiers, sender[0], urgent=sender[1]) if sender else None
        return Admission(
            lease_id=lease_id, channel="telegram", tiers=tiers, cost_millis=cost, max_in_flight=most, share=share
        )

    match operation:
        case ("admit", lease_id, recipient, cost, most, consume, sender):
            return await limits.admit(ask(lease_id, recipient, cost, most, sender), consume=consume)
        case ("release", lease_id):
            return await limits.release(lease_id)
        case ("refund", lease_id, recipient, sender):
            return await limits.refund(ask(lease_id, recipient, sender=(sender, False)))
        case ("throttle", channel, seconds):
            return await limits.throttle(channel, seconds)
        case ("throttles",):
            return dict(await limits.throttles())
        case ("reserve", address, interval):
            return await limits.reserve("telegram", address, interval)
        case _:
            raise AssertionError(operation)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=st.lists(operations, min_size=15, max_size=60))
async def test_memory_and_redis_give_the_same_answers_to_the_same_calls(client: Redis, script: list[tuple]) -> None:
    clock = TurnedClock()
    memory = MemoryLimits(clock)
    redis = RedisLimits(client, fresh_prefix(), clock, clock_from_redis=False)
    for operation in script:
        if operation[0] == "turn":
            clock.turn(operation[1])
        else:
            assert await carry_out(redis, operation) == await carry_out(memory, operation), operation
    assert not redis.away


class TestMemory:
    async def test_a_hundred_thousand_recipients_do_not_stay_for_ever(self, clock: TurnedClock) -> None:
        limits, most = MemoryLimits(clock), 0
        for number in range(100_000):
            clock.turn(0.01)
            tiers = (Tier(LimitType.RECIPIENT, f"r{number}", 10),)
            await limits.admit(Admission(lease_id="", channel="telegram", tiers=tiers))
            await limits.reserve("telegram", f"r{number}", 1.0)
            most = max(most, limits.remembered)
        # A token is back after six seconds: 600 recipients mean something at any moment.
        assert most < 5_000

    async def test_sweeping_forgets_nothing_that_still_counts(self, clock: TurnedClock) -> None:
        limits = MemoryLimits(clock)
        for _ in range(10):
            await limits.admit(asking(channel="email"))
        for number in range(5_000):
            tiers = (Tier(LimitType.RECIPIENT, f"r{number}", 10),)
            await limits.admit(Admission(lease_id="", channel="telegram", tiers=tiers))
        assert (await limits.admit(asking())).limit_type is LimitType.RECIPIENT


class TestRedis:
    async def test_time_is_the_servers_own(self, client: Redis) -> None:
        limits = RedisLimits(client, fresh_prefix(), TurnedClock(0))
        decisions = [await limits.admit(asking()) for _ in range(11)]
        assert [decision.admitted for decision in decisions] == [True] * 10 + [False]
        assert 5 < decisions[-1].retry_after_seconds <= 6
        await limits.throttle("telegram", 3600)
        assert 3595 < (await limits.throttles())["telegram"] <= 3600
        assert 3595 < await limits.reserve("telegram", "42", 1.0) <= 3600

    async def test_every_key_ends_by_itself_and_has_the_same_hash_tag(self, client: Redis, clock: TurnedClock) -> None:
        prefix = fresh_prefix()
        limits = RedisLimits(client, prefix, clock)
        await limits.admit(asking(recipient="a}b{c"))
        await limits.refund(asking(recipient="a}b{c"))
        await limits.admit(asking("d2"))
        await limits.reserve("telegram", "42", 1.0)
        await limits.throttle("telegram", 30)
        keys = [key async for key in client.scan_iter(match=f"*{prefix}*")]
        assert len(keys) == 7
        assert all(key.startswith(f"{{{prefix}}}:".encode()) for key in keys)
        assert all([await client.pttl(key) > 0 for key in keys])

    async def test_the_script_is_loaded_again_after_it_was_flushed(self, client: Redis, clock: TurnedClock) -> None:
        limits = RedisLimits(client, fresh_prefix(), clock, clock_from_redis=False)
        await limits.admit(asking("a"))
        await client.script_flush()
        decisions = await asyncio.gather(*(limits.admit(asking(f"d{number}")) for number in range(5)))
        assert [available(decision)[2] for decision in decisions] == [8.0, 7.0, 6.0, 5.0, 4.0]
        assert not limits.away

    async def test_works_on_a_cluster(self, clock: TurnedClock) -> None:
        with own_cluster() as server:
            cluster = RedisCluster.from_url(server.url)
            limits = RedisLimits(cluster, "postroom", clock, clock_from_redis=False)
            decisions = await asyncio.gather(*(limits.admit(asking(f"d{number}")) for number in range(15)))
            assert sum(decision.admitted for decision in decisions) == 10
            assert not limits.away
            await cluster.aclose()
