"""Connections that are lent: never more than allowed, never a dead one, and nobody waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
from tests.patience import PATIENCE_SECONDS

from postroom.world.store.engine.connections import Connection, DatabaseConnections


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


async def test_one_that_came_back_goes_out_again(server: Server) -> None:
    connections = DatabaseConnections(server.connect, most=2)
    for _ in range(5):
        connection = await connections.borrow()
        assert await connection.fetchval("SELECT 1") == 1
        connections.give_back(connection)

    assert len(server.opened) == 1


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
