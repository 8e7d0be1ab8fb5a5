"""The hourly cap: quick on Redis, always right in the database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.clock import START_US
from tests.inbox.examples import a_notification
from tests.support.redis_server import fresh_prefix, own_redis
from tests.support.turned_clock import TurnedClock

from postroom.inbox.model import NotificationQuery
from postroom.inbox.store.hourly_cap_redis import RedisHourlyCap
from postroom.inbox.store.notes import StoredNotes
from postroom.kernel.database.redis_script import connect
from postroom.kernel.database.sqlite import SqliteDatabase

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


async def test_while_redis_is_away_and_after_it_forgot_everything_the_cap_still_holds(tmp_path: Path) -> None:
    """As the inbox does it: ask Redis, then write under the database's own count."""
    database = SqliteDatabase(tmp_path / "inbox.db")
    await database.migrate()
    notes, clock = StoredNotes(database), TurnedClock()

    async def create(cap: RedisHourlyCap) -> bool:
        new = a_notification(at_us=clock.now_us())
        if not await cap.take("ada", new.id, clock.now_us()):
            return False
        return await notes.create(new, hourly_cap=10) is not None

    with own_redis() as server:
        client = connect(server.url)
        cap = RedisHourlyCap(client, fresh_prefix(), clock, 10)
        created = sum(await asyncio.gather(*(create(cap) for _ in range(4))))
        server.stop()
        created += sum(await asyncio.gather(*(create(cap) for _ in range(20))))
        assert cap.away
        server.start()
        await cap.reach.look()
        created += sum(await asyncio.gather(*(create(cap) for _ in range(20))))
        assert not cap.away
        await client.aclose()
    kept = await notes.page("ada", NotificationQuery(limit=100), clock.now_us())
    await database.close()

    assert created == 10
    assert len(kept) == 10
