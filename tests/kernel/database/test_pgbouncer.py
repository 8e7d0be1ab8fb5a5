"""Behind a real PgBouncer in transaction mode: every transaction may meet another server connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy import select, text
from tests.household.living import LIFTED, QUICK, living
from tests.patience import PATIENCE_SECONDS
from tests.services.pgbouncer import PgBouncer, find_program
from tests.services.server import ServiceError
from tests.support.counted import CountedLoops
from tests.support.intent_hosts import Host
from tests.support.sample_deliveries import LEASE, LEASE_US, NOON_US, SECOND, ending, new_delivery

from postroom.delivery.reading.file import DeliveryQuery
from postroom.delivery.store.postgres import PostgresLedger
from postroom.intents.store import intent_events
from postroom.kernel.database.engine import QuestionNotices
from postroom.kernel.database.postgres import PostgresDatabase, listening, polling
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import DeliveryEvent, Status
from postroom.overview.tracking import search


@pytest.fixture
def pooler(postgres_url: str, server_directory: Path) -> Iterator[PgBouncer]:
    try:
        find_program()
    except ServiceError as error:
        pytest.skip(str(error))
    server = PgBouncer(server_directory, postgres_url)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
async def database(pooler: PgBouncer) -> AsyncIterator[PostgresDatabase]:
    one = PostgresDatabase(pooler.url, prepared=False)
    await one.migrate()
    try:
        yield one
    finally:
        await one.close()


async def test_the_pooler_really_mixes_the_connections(pooler: PgBouncer) -> None:
    """What the setting is for: a prepared statement is unknown on the next server connection."""
    asker, other = [await asyncpg.connect(pooler.url) for _ in range(2)]
    try:
        async with asker.transaction():
            statement = await asker.prepare("SELECT $1::int")
            prepared_on = await asker.fetchval("SELECT pg_backend_pid()")
        async with other.transaction():  # keeps the one server connection there is: the next call meets a new one
            assert await other.fetchval("SELECT pg_backend_pid()") == prepared_on
            with pytest.raises(asyncpg.InvalidSQLStatementNameError):
                await statement.fetchval(1)
    finally:
        asker.terminate()
        other.terminate()


async def test_many_deliveries_go_from_insert_to_settled(database: PostgresDatabase) -> None:
    ledger = PostgresLedger(database)

    async def deliver(number: int) -> bool:
        inserted = await ledger.insert(new_delivery(), LEASE if number % 2 else None)
        claims = (
            [inserted.claim]
            if inserted.claim
            else await ledger.claim("telegram", now_us=NOON_US, lease_until_us=LEASE_US, limit=1)
        )
        for claim in claims:
            assert claim is not None
            assert await ledger.mark_sending(claim, now_us=NOON_US, lease_until_us=LEASE_US)
            assert await ledger.settle(ending(claim, DeliveryEvent.DELIVER))
        return bool(claims)

    for _ in range(5):
        await asyncio.gather(*(deliver(number) for number in range(40)))
    while left := await ledger.claim("telegram", now_us=NOON_US + SECOND, lease_until_us=LEASE_US, limit=50):
        await asyncio.gather(*(ledger.settle(ending(claim, DeliveryEvent.DELIVER)) for claim in left))

    query = partial(search, query=DeliveryQuery(status=Status.DELIVERED))
    found = await asyncio.gather(*(database.read(query) for _ in range(20)))
    assert {len(rows) for rows in found} == {51}
    counted = await database.hot(
        lambda connection: connection.fetchval(
            "SELECT count(*) FROM messenger.delivery_requests WHERE status = 'delivered'"
        )
    )
    assert counted == 200


async def test_events_of_intents_have_their_order_and_leave_no_setting_behind(database: PostgresDatabase) -> None:
    host = Host(database)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.gather(*(host.ask() for _ in range(20)))

    placed = select(intent_events.c.position).order_by(intent_events.c.position)
    shown = text("SELECT current_setting('idle_in_transaction_session_timeout')")
    found = await database.read(lambda connection: connection.execute(placed).scalars().all())
    left = await asyncio.gather(
        *(database.read(lambda connection: connection.execute(shown).scalar()) for _ in range(20))
    )
    assert (list(found), set(left)) == (list(range(1, 41)), {"0"})


async def test_notices_come_by_a_way_around_the_pooler(
    database: PostgresDatabase, pooler: PgBouncer, postgres_url: str
) -> None:
    ears: asyncio.Queue[list[DeliveryId] | None] = asyncio.Queue()
    there = PostgresDatabase(pooler.url, prepared=False, listen_url=postgres_url)

    async def settled(ids: list[DeliveryId] | None) -> None:
        ears.put_nowait(ids)

    ledger = PostgresLedger(database)
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        listening(there, QuestionNotices(), lambda: None, settled, CountedLoops()),
    ):
        assert await ears.get() is None
        claim = (await ledger.insert(new_delivery(), LEASE)).claim
        assert claim is not None
        assert await ledger.settle(ending(claim, DeliveryEvent.DELIVER))
        assert await ears.get() == [claim.id]
    await there.close()


async def test_without_such_a_way_everything_is_looked_at_again_and_again() -> None:
    looks: asyncio.Queue[str] = asyncio.Queue()

    async def settled(ids: list[DeliveryId] | None) -> None:
        assert ids is None
        looks.put_nowait("settled")

    async with asyncio.timeout(PATIENCE_SECONDS), polling(lambda: looks.put_nowait("pending"), settled, CountedLoops()):
        assert [await looks.get() for _ in range(4)] == ["pending", "settled", "pending", "settled"]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("notices", ["listen", "poll"])
async def test_a_household_delivers_behind_the_pooler(
    home: Path, pooler: PgBouncer, postgres_url: str, notices: str
) -> None:
    behind = {
        "database_url": pooler.url,
        "postgres": {"prepared_statements": False, "notices": notices, "listen_url": postgres_url},
    }
    async with living(home, LIFTED, QUICK, behind) as house:
        answers = await asyncio.gather(*(house.notify(message=f"note {n}", recipient=str(1000 + n)) for n in range(30)))

        assert {answer["status"] for answer in answers} == {"ok"}, answers
        assert sorted(await house.texts()) == sorted(f"note {n}" for n in range(30))


async def test_nothing_is_asked_of_a_session_that_a_pooler_would_refuse(pooler: PgBouncer) -> None:
    """With prepared statements left on as well: a newer pooler keeps them, and knows no more settings than this one."""
    one = PostgresDatabase(pooler.url)
    try:
        assert await one.hot(lambda connection: connection.execute("SELECT 1")) == "SELECT 1"
    finally:
        await one.close()
