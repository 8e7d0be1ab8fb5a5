"""The hourly cap: quick on Redis, always right in the database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.clock import START_US
from tests.support.redis_server import fresh_prefix
from tests.support.turned_clock import TurnedClock

from postroom.inbox.store.hourly_cap_redis import RedisHourlyCap
from postroom.kernel.database.redis_script import connect

HOUR = 3600 * 1_000_000


@pytest.fixture
async def cap(redis_url: str) -> AsyncIterator[RedisHourlyCap]:
    client = connect(redis_url)
    cap = RedisHourlyCap(client, fresh_prefix(), TurnedClock(), 10)
    yield cap
    assert not cap.away, "nobody was asked"
    await client.aclose()


@pytest.mark.requirement("inbox:validation-rate-limit")
async def test_forty_at_once_under_a_cap_of_ten_are_ten(cap: RedisHourlyCap) -> None:
    taken = await asyncio.gather(*(cap.take("ada", f"n{number}", START_US) for number in range(40)))

    assert sum(taken) == 10
    assert await cap.take("bob", "n0", START_US)


async def test_the_hour_slides_and_a_refusal_costs_nothing(cap: RedisHourlyCap) -> None:
    for number in range(10):
        assert await cap.take("ada", f"n{number}", START_US + number)
    for number in range(5):
        assert not await cap.take("ada", f"refused{number}", START_US + HOUR - 1)

    assert await cap.take("ada", "later", START_US + HOUR)
    assert not await cap.take("ada", "too early", START_US + HOUR)
    assert await cap.take("ada", "later still", START_US + HOUR + 1)


async def test_what_came_to_nothing_is_given_back(cap: RedisHourlyCap) -> None:
    for number in range(10):
        assert await cap.take("ada", f"n{number}", START_US)
    await cap.give_back("ada", "n3")

    assert await cap.take("ada", "instead", START_US)
    assert not await cap.take("ada", "another", START_US)


async def test_asking_again_with_the_same_id_is_asking_once(cap: RedisHourlyCap) -> None:
    for _ in range(20):
        assert await cap.take("ada", "n1", START_US)

    assert await cap.take("ada", "n2", START_US)
