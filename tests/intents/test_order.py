"""Places in the order of commits: one writer at a time, and nobody waits for one that was stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import Connection, select, text
from sqlalchemy.util import await_only
from tests.support.intent_hosts import Host

from postroom.intents.store import intent_events
from postroom.kernel.database.engine import PATIENCE_SECONDS, wait_for_turn
from postroom.kernel.database.postgres import PostgresDatabase
from postroom.kernel.values.errors import StoreUnavailable


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[PostgresDatabase]:
    one = PostgresDatabase(postgres_url)
    try:
        yield one
    finally:
        await one.close()


async def test_places_have_no_gap_however_many_write_at_once_and_however_many_fail(database: PostgresDatabase) -> None:
    host = Host(database)

    def broken(connection: Connection) -> None:
        wait_for_turn(connection)
        raise LookupError

    async def fail() -> None:
        with pytest.raises(LookupError):
            await database.write(broken)

    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.gather(*(host.ask() for _ in range(20)), *(fail() for _ in range(5)))

    asked = select(intent_events.c.position).order_by(intent_events.c.position)
    assert await database.read(lambda connection: connection.execute(asked).scalars().all()) == list(range(1, 41))


async def test_a_process_that_stops_with_the_order_in_hand_keeps_it_only_for_a_while(
    database: PostgresDatabase,
) -> None:
    reached, others_are_done = asyncio.Event(), asyncio.Event()

    def stop_in_between(connection: Connection) -> None:
        wait_for_turn(connection, patience_seconds=0.2)
        reached.set()
        await_only(others_are_done.wait())
        wait_for_turn(connection)

    async with asyncio.timeout(PATIENCE_SECONDS):
        stopped = asyncio.create_task(database.write(stop_in_between))
        await reached.wait()
        await Host(database).ask()
        others_are_done.set()
        with pytest.raises(StoreUnavailable):
            await stopped


async def test_patience_ends_with_the_transaction(database: PostgresDatabase) -> None:
    shown = text("SHOW idle_in_transaction_session_timeout")

    def during(connection: Connection) -> str:
        wait_for_turn(connection)
        return str(connection.execute(shown).scalar_one())

    assert await database.write(during) == f"{PATIENCE_SECONDS:.0f}s"
    assert await database.write(lambda connection: connection.execute(shown).scalar_one()) == "0"
