"""Limits of a process that Redis does not answer: they hold here, and what was missed is told afterwards."""

from __future__ import annotations

import asyncio

from structlog.testing import capture_logs
from tests.patience import PATIENCE_SECONDS
from tests.support.admissions import asking, available, place
from tests.support.redis_server import own_redis
from tests.support.turned_clock import TurnedClock

from postroom.delivery.rules.limits import LimitType
from postroom.delivery.store.limits_redis import RedisLimits
from postroom.kernel.database.redis_script import connect


class TestWhenRedisIsAway:
    async def test_the_limits_hold_in_this_process_and_return_with_the_server(self, clock: TurnedClock) -> None:
        with own_redis() as server, capture_logs() as logs:
            client = connect(server.url)
            limits = RedisLimits(client, "postroom", clock, clock_from_redis=False)
            assert available(await limits.admit(asking("before")))[2] == 9.0
            server.stop()
            decisions = [await limits.admit(asking(f"d{number}")) for number in range(12)]
            assert sum(decision.admitted for decision in decisions) == 10
            assert limits.away
            server.start()
            clock.turn(1)
            await limits.reach.look()
            assert available(await limits.admit(asking("after")))[2] == 9.0
            assert not limits.away
            await client.aclose()
        assert [(log["event"], log["log_level"]) for log in logs] == [("redis_away", "warning"), ("redis_back", "info")]
        assert "alice" not in str(logs)

    async def test_each_outage_is_said_once(self, clock: TurnedClock) -> None:
        with own_redis() as server, capture_logs() as logs:
            client = connect(server.url)
            limits = RedisLimits(client, "postroom", clock, clock_from_redis=False)
            for _ in range(2):
                server.stop()
                for _ in range(20):
                    clock.turn(0.5)
                    await limits.admit(asking())
                server.start()
                await limits.reach.look()
                await limits.admit(asking())
            await client.aclose()
        assert [log["event"] for log in logs] == ["redis_away", "redis_back"] * 2

    async def test_a_server_that_does_not_answer_holds_nobody_up_twice(self, clock: TurnedClock) -> None:
        with own_redis() as server:
            client = connect(server.url)
            limits = RedisLimits(client, "postroom", clock, clock_from_redis=False)
            await limits.admit(asking("before"))
            with server.frozen():
                async with asyncio.timeout(PATIENCE_SECONDS):
                    decisions = await asyncio.gather(*(limits.admit(asking(f"d{n}")) for n in range(200)))
                    assert sum(decision.admitted for decision in decisions) == 10
                async with asyncio.timeout(PATIENCE_SECONDS):
                    for number in range(200):
                        await limits.release(f"d{number}")
            await limits.reach.look()
            await limits.admit(asking("after"))
            assert not limits.away
            await client.aclose()

    async def test_what_a_provider_said_is_still_known(self, clock: TurnedClock) -> None:
        with own_redis() as server:
            client = connect(server.url)
            limits = RedisLimits(client, "postroom", clock, clock_from_redis=False)
            await limits.throttle("telegram", 30)
            server.stop()
            assert (await limits.admit(asking())).limit_type is LimitType.PROVIDER
            assert await limits.throttles() == {"telegram": 30.0}
            assert await limits.reserve("telegram", "42", 1.0) == 30.0
            assert await limits.reserve("email", "a@b.example", 1.0) == 0
            assert await limits.reserve("email", "a@b.example", 1.0) == 1.0
            await client.aclose()

    async def test_what_a_provider_said_in_the_meantime_is_known_to_all_afterwards(self, clock: TurnedClock) -> None:
        with own_redis() as server:
            client = connect(server.url)
            limits = RedisLimits(client, "postroom", clock, clock_from_redis=False)
            server.stop()
            await limits.throttle("telegram", 30)
            server.start()
            clock.turn(1)
            await limits.reach.look()
            assert await limits.reserve("telegram", "42", 1.0) == 29.0
            other = RedisLimits(client, "postroom", clock, clock_from_redis=False)
            assert await other.throttles() == {"telegram": 29.0}
            await client.aclose()

    async def test_places_released_in_the_meantime_are_free_afterwards(self, clock: TurnedClock) -> None:
        with own_redis("--appendonly", "yes", "--appendfsync", "always") as server:
            client = connect(server.url)
            limits = RedisLimits(client, "postroom", clock, clock_from_redis=False)
            for name in ("released", "refunded", "kept"):
                await limits.admit(place(name, 3))
            server.stop()
            await limits.release("released")
            await limits.refund(place("refunded", 3))
            assert (await limits.admit(place("local", 3))).in_flight == 1
            await limits.release("local")
            server.start()
            clock.turn(1)
            await limits.reach.look()
            decision = await limits.admit(place("after", 3))
            assert (decision.admitted, decision.in_flight) == (True, 2)
            await client.aclose()
