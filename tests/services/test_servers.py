"""The servers are the ones that production code will meet."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest
from redis.asyncio import Redis

from tests.services.postgres import PostgresServer
from tests.services.redis import RedisServer


async def test_the_database_speaks_utf8_and_listens_here_only(postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)
    try:
        assert await connection.fetchval("show server_encoding") == "UTF8"
        assert await connection.fetchval("show listen_addresses") == "127.0.0.1"
    finally:
        await connection.close()


async def test_a_new_database_is_empty_and_not_the_shared_one(postgres_url: str, new_postgres_url: str) -> None:
    connection = await asyncpg.connect(new_postgres_url)
    try:
        tables = "select count(*) from information_schema.tables where table_schema not in ('pg_catalog', $1)"
        assert await connection.fetchval(tables, "information_schema") == 0
    finally:
        await connection.close()
    assert new_postgres_url != postgres_url


@pytest.mark.parametrize("key", ["first", "second"])
async def test_redis_is_empty_at_the_start_of_every_test(redis_url: str, key: str) -> None:
    async with Redis.from_url(redis_url) as client:
        assert await client.dbsize() == 0
        await client.set(key, "left behind")


@pytest.mark.timeout(90)
async def test_what_was_committed_survives_a_crash_of_postgres(server_directory: Path) -> None:
    server = PostgresServer(server_directory)
    server.start()
    try:
        connection = await asyncpg.connect(server.url())
        assert await connection.fetchval("show fsync") == "on"
        await connection.execute("create table kept (word text); insert into kept values ('still here')")
        server.kill()
        connection.terminate()

        server.start()
        connection = await asyncpg.connect(server.url())
        assert await connection.fetchval("select word from kept") == "still here"
        await connection.close()
    finally:
        server.stop()


async def test_redis_comes_back_on_the_same_port_with_nothing(server_directory: Path) -> None:
    server = RedisServer(server_directory)
    server.start()
    try:
        async with Redis.from_url(server.url()) as client:
            await client.set("word", "forgotten")
        server.kill()
        server.start()
        async with Redis.from_url(server.url()) as client:
            assert await client.get("word") is None
    finally:
        server.stop()
