"""PostgreSQL: connections are lent and come back, and what a server refuses for a moment is said to be away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
from sqlalchemy import Connection as SqlalchemyConnection
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from tests.patience import PATIENCE_SECONDS
from tests.services.ports import free_port

from postroom.kernel.database.postgres import (
    Connection,
    DatabaseConnections,
    PostgresDatabase,
)
from postroom.kernel.values.errors import StoreUnavailable


class Server:
    """Counts what was opened at a real server; can be away."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.opened: list[Connection] = []
        self.away = False

    async def connect(self) -> Connection:
        if self.away:
            raise OSError("away")
        connection: Connection = await asyncpg.connect(self.url)
        self.opened.append(connection)
        return connection


@pytest.fixture
async def server(postgres_url: str) -> AsyncIterator[Server]:
    server = Server(postgres_url)
    yield server
    for connection in server.opened:
        connection.terminate()


async def test_there_are_never_more_than_allowed_and_whoever_waits_gets_the_next(server: Server) -> None:
    connections = DatabaseConnections(server.connect, most=2)
    lent = await asyncio.gather(connections.borrow(), connections.borrow())
    waiting = [asyncio.create_task(connections.borrow()) for _ in range(2)]
    await asyncio.sleep(0)
    assert not any(one.done() for one in waiting)

    for connection in lent:
        connections.give_back(connection)

    async with asyncio.timeout(PATIENCE_SECONDS):
        assert set(await asyncio.gather(*waiting)) == set(lent)
    assert len(server.opened) == 2


@pytest.mark.parametrize("when", ["while it is lent", "while it is free"])
async def test_a_dead_one_is_not_lent_again_and_leaves_its_place(server: Server, when: str) -> None:
    connections = DatabaseConnections(server.connect, most=1)
    connection = await connections.borrow()
    if when == "while it is lent":
        connection.terminate()
    connections.give_back(connection)
    connection.terminate()

    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await (await connections.borrow()).fetchval("SELECT 1") == 1
    assert len(server.opened) == 2


async def test_one_that_has_rested_too_long_is_not_lent_again(server: Server) -> None:
    connections = DatabaseConnections(server.connect, most=1, longest_rest_seconds=-1)
    connection = await connections.borrow()
    connections.give_back(connection)

    assert await connections.borrow() is not connection
    assert connection.is_closed()


async def test_one_that_is_left_in_a_transaction_is_not_lent_again(server: Server) -> None:
    connections = DatabaseConnections(server.connect, most=1)
    connection = await connections.borrow()
    await connection.execute("BEGIN")
    connections.give_back(connection)

    assert connection.is_closed()
    assert await connections.borrow() is not connection


async def test_whoever_waits_is_not_forgotten_when_a_connection_cannot_be_opened(server: Server) -> None:
    connections = DatabaseConnections(server.connect, most=1)
    connection = await connections.borrow()
    waiting = [asyncio.create_task(connections.borrow()) for _ in range(2)]
    await asyncio.sleep(0)
    server.away = True
    connection.terminate()
    connections.give_back(connection)

    async with asyncio.timeout(PATIENCE_SECONDS):
        assert [type(one) for one in await asyncio.gather(*waiting, return_exceptions=True)] == [OSError, OSError]
        server.away = False
        assert await (await connections.borrow()).fetchval("SELECT 1") == 1


@pytest.mark.parametrize("turns", [0, 1], ids=["while waiting", "when its turn had just come"])
async def test_one_who_gives_up_waiting_takes_nothing_with_him(server: Server, turns: int) -> None:
    connections = DatabaseConnections(server.connect, most=1)
    connection = await connections.borrow()
    impatient, patient = (asyncio.create_task(connections.borrow()) for _ in range(2))
    await asyncio.sleep(0)
    if turns:
        connections.give_back(connection)
        impatient.cancel()
    else:
        impatient.cancel()
        await asyncio.sleep(0)
        connections.give_back(connection)

    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await patient is connection
    assert impatient.cancelled()


async def test_one_who_gives_up_in_the_same_breath_in_which_a_connection_comes_back_only_gives_up(
    server: Server,
) -> None:
    """A server that falls silent is given up by all at once: by whoever has a connection and by whoever waits."""
    connections = DatabaseConnections(server.connect, most=1)
    connection = await connections.borrow()
    impatient, patient = (asyncio.create_task(connections.borrow()) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    connections.give_back(connection)

    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await patient is connection
        await asyncio.wait([impatient])
    assert impatient.cancelled()


async def test_closing_ends_those_that_are_free_and_those_that_are_not(server: Server) -> None:
    connections = DatabaseConnections(server.connect, most=2)
    lent, free = await asyncio.gather(connections.borrow(), connections.borrow())
    connections.give_back(free)

    await connections.close(2.0)

    assert [one.is_closed() for one in (lent, free)] == [True, True]
    connections.give_back(lent)
    with pytest.raises(asyncpg.InterfaceError):
        await connections.borrow()


async def test_whoever_waits_when_they_are_closed_is_told(server: Server) -> None:
    connections = DatabaseConnections(server.connect, most=1)
    lent = await connections.borrow()
    waiting = asyncio.create_task(connections.borrow())
    await asyncio.sleep(0)

    await connections.close(2.0)

    async with asyncio.timeout(PATIENCE_SECONDS):
        with pytest.raises(asyncpg.InterfaceError):
            await waiting
    connections.give_back(lent)


_BODY = "the body of a letter"


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[PostgresDatabase]:
    database = PostgresDatabase(postgres_url, pool_size=2)
    yield database
    await database.close()


def one(connection: SqlalchemyConnection) -> int:
    return int(connection.execute(text("SELECT 1")).scalar_one())


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    nowhere = PostgresDatabase(f"postgresql://postgres@127.0.0.1:{free_port()}/butlers")
    try:
        for ask in (nowhere.hot(lambda connection: connection.fetchval("SELECT 1")), nowhere.read(one)):
            with pytest.raises(StoreUnavailable):
                await ask
        with pytest.raises(StoreUnavailable):
            await nowhere.write(one)
        with pytest.raises(StoreUnavailable):
            await nowhere.connect()
    finally:
        await nowhere.close()


async def test_a_connection_cut_in_the_middle_is_unavailable_and_the_next_call_works(
    database: PostgresDatabase, postgres_url: str
) -> None:
    sleeping = asyncio.create_task(database.hot(lambda connection: connection.fetchval("SELECT pg_sleep(30)")))

    await _cut(postgres_url)

    with pytest.raises(StoreUnavailable):
        await sleeping
    assert await database.hot(lambda connection: connection.fetchval("SELECT 1")) == 1


async def test_a_connection_to_a_server_that_does_not_write_any_more_is_not_used_again(postgres_url: str) -> None:
    """After a switch to another server the old one may go on answering, and refuse every write for ever."""
    database = PostgresDatabase(postgres_url, pool_size=1)
    write = "CREATE TEMPORARY SEQUENCE written"
    try:
        await database.hot(lambda connection: connection.execute("SET default_transaction_read_only = on"))
        with pytest.raises(StoreUnavailable):
            await database.hot(lambda connection: connection.execute(write))

        assert await database.hot(lambda connection: connection.execute(write)) == "CREATE SEQUENCE"
    finally:
        await database.close()


@pytest.mark.parametrize("state", ["40001", "40P01", "55P03", "57P01", "57P02", "57P03", "57014"])
async def test_what_passes_by_itself_is_an_outage_of_a_moment(database: PostgresDatabase, state: str) -> None:
    statement = f"DO $$ BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = '{state}'; END $$"

    with pytest.raises(StoreUnavailable):
        await database.hot(lambda connection: connection.execute(statement))
    with pytest.raises(StoreUnavailable):
        await database.write(lambda connection: connection.execute(text(statement)))


async def test_a_table_that_was_changed_under_a_prepared_statement_is_one_too(
    database: PostgresDatabase, postgres_url: str
) -> None:
    other = await asyncpg.connect(postgres_url)
    try:
        await other.execute("create table changing (one int)")
        await database.write(lambda connection: connection.execute(text("SELECT * FROM changing")))
        await other.execute("alter table changing add column two int")

        with pytest.raises(StoreUnavailable):
            await database.write(lambda connection: connection.execute(text("SELECT * FROM changing")))
        await database.write(lambda connection: connection.execute(text("SELECT * FROM changing")))
    finally:
        await other.execute("drop table changing")
        await other.close()


async def test_a_mistake_in_a_statement_is_no_outage_and_its_parameters_stay_hidden(database: PostgresDatabase) -> None:
    with pytest.raises(DBAPIError) as caught:
        await database.write(lambda connection: connection.execute(text("SELECT :body::int"), {"body": _BODY}))

    assert _BODY not in str(caught.value).split("[SQL")[1]


async def test_the_first_callers_at_once_share_one_pool(database: PostgresDatabase, postgres_url: str) -> None:
    watcher = await asyncpg.connect(postgres_url)

    async def connected() -> set[int]:
        rows = await watcher.fetch("select pid from pg_stat_activity where datname = current_database()")
        return {row["pid"] for row in rows}

    try:
        before = await connected()  # with those of an earlier test that are still on their way out
        await asyncio.gather(*(database.hot(lambda connection: connection.fetchval("SELECT 1")) for _ in range(20)))
        new = await connected() - before
    finally:
        await watcher.close()
    assert 1 <= len(new) <= 2


async def test_a_connection_that_ended_while_it_lay_in_the_pool_is_replaced_before_it_is_used(
    database: PostgresDatabase,
) -> None:
    async with database._engine.connect() as connection:
        driver: Any = (await connection.get_raw_connection()).driver_connection
    driver.terminate()

    assert await database.read(lambda connection: connection.execute(text("select 1")).scalar()) == 1


async def _cut(url: str) -> None:
    """As soon as the sleeper sleeps."""
    connection = await asyncpg.connect(url)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            ended = 0
            while not ended:
                ended = await connection.fetchval(
                    "select count(pg_terminate_backend(pid)) from pg_stat_activity "
                    "where datname = current_database() and state = 'active' and query ilike 'SELECT pg_sleep%'"
                )
    finally:
        await connection.close()


async def test_a_reading_in_several_steps_sees_one_moment(database: PostgresDatabase, postgres_url: str) -> None:
    other = await asyncpg.connect(postgres_url)
    try:
        await other.execute("create table moments (n int)")
        await other.execute("select pg_advisory_lock(4711)")

        def look_twice(connection: SqlalchemyConnection) -> list[Any]:
            counted = text("select count(*) from moments")
            before = connection.execute(counted).scalar()
            connection.execute(text("select pg_advisory_lock_shared(4711), pg_advisory_unlock_shared(4711)"))
            return [before, connection.execute(counted).scalar()]

        looking = asyncio.create_task(database.read(look_twice))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await other.fetchval("select count(*) from pg_locks where locktype = 'advisory' and not granted"):
                await asyncio.sleep(0)
            await other.execute("insert into moments values (1)")
            await other.execute("select pg_advisory_unlock(4711)")
            assert await looking == [0, 0]
    finally:
        await other.execute("drop table if exists moments")
        await other.close()


async def test_a_hot_statement_planned_while_its_table_was_small_still_goes_by_the_index(postgres_url: str) -> None:
    """A prepared statement keeps its plan while the table grows, and a small table would be read whole."""
    database = PostgresDatabase(postgres_url, pool_size=1)

    async def plan(connection: asyncpg.Connection[asyncpg.Record]) -> list[asyncpg.Record]:
        await connection.execute("CREATE TEMPORARY TABLE kept (id text PRIMARY KEY, fence int)")
        await connection.execute("INSERT INTO kept SELECT n::text, n FROM generate_series(1, 100) AS n")
        joined = "SELECT fence FROM kept JOIN unnest($1::text[]) AS one ON one = id"
        return await connection.fetch(f"EXPLAIN {joined}", ["7"])

    try:
        lines = [str(row[0]) for row in await database.hot(plan)]
    finally:
        await database.close()
    assert not any("Seq Scan" in line for line in lines), lines
