"""A migrated PostgreSQL database that is lent to one test after another, each time without a row in it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, TypeVar

import asyncpg

from postroom.kernel.database.postgres import PostgresDatabase
from tests.services import databases

Result = TypeVar("Result")
_SECONDS = 60.0
_OURS = "oid >= 16384"  # below are the objects that every database is born with
_TABLES = f"SELECT oid FROM pg_class WHERE {_OURS} AND relkind IN ('r', 'p')"
_SHAPE = f"""
    SELECT md5(string_agg(line, ' ' ORDER BY line)) FROM (
        SELECT version_num::text FROM public.postroom_version UNION ALL
        SELECT concat_ws(' ', oid, relname, relkind, relnatts, relchecks, relhastriggers, reloptions)
        FROM pg_class WHERE {_OURS} AND relkind <> 't'
        UNION ALL SELECT concat_ws(' ', attrelid, attnum, attname, atttypid, atttypmod, attnotnull, attidentity)
        FROM pg_attribute WHERE attrelid >= 16384 AND attnum > 0
        UNION ALL SELECT concat_ws(' ', oid, adbin) FROM pg_attrdef
        UNION ALL SELECT concat_ws(' ', oid, convalidated) FROM pg_constraint WHERE {_OURS}
        UNION ALL SELECT concat_ws(' ', oid, tgenabled) FROM pg_trigger
        UNION ALL SELECT concat_ws(' ', oid, md5(prosrc)) FROM pg_proc WHERE {_OURS}
        UNION ALL SELECT concat_ws(' ', oid, nspname) FROM pg_namespace WHERE {_OURS} AND nspname !~ '^pg_'
    ) AS shape (line)
"""
_LEAVE = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
_ADDED = f"""
    SELECT format('DROP TABLE IF EXISTS %s CASCADE', oid::regclass) FROM pg_class
    WHERE {_OURS} AND relkind IN ('r', 'p') AND NOT oid = ANY($1)
"""
_EMPTY = f"""
    DO $$
    DECLARE one regclass;
    BEGIN
        SET LOCAL session_replication_role = replica;  -- no trigger forbids it, no foreign key orders it
        FOR one IN SELECT oid FROM pg_class WHERE {_OURS} AND relkind = 'r' AND relname <> 'postroom_version' LOOP
            EXECUTE format('DELETE FROM %s', one);
        END LOOP;
        PERFORM setval(seqrelid, seqstart, false) FROM pg_sequence;
    END $$
"""


class ReadyDatabases:
    """One test at a time; a database whose shape a test has changed is thrown away and another is made."""

    def __init__(self, server_url: str) -> None:
        self._server_url = server_url
        self._made = ExitStack()
        self._thread = ThreadPoolExecutor(max_workers=1)  # the caller's thread may have an event loop of its own
        self._loop = asyncio.Runner()
        self._url = ""
        self._connection: asyncpg.Connection | None = None  # kept: a new one reads the whole catalogue again
        self._tables: list[int] = []
        self._shape = ""

    def lend(self) -> str:
        if not self._url or not self._run(self._clear()):
            self._drop()
            self._url = self._made.enter_context(databases.temporary(self._server_url))
            self._run(self._migrate())
        return self._url

    def close(self) -> None:
        self._drop()
        self._thread.submit(self._loop.close).result(_SECONDS)
        self._thread.shutdown()

    def _drop(self) -> None:
        if self._connection is not None:
            self._run(self._connection.close(timeout=_SECONDS))
            self._connection = None
        self._made.close()

    async def _migrate(self) -> None:
        database = PostgresDatabase(self._url)
        await database.migrate()
        await database.close()
        connection = await self._connected()
        self._tables = [row["oid"] for row in await connection.fetch(_TABLES)]
        self._shape = await connection.fetchval(_SHAPE)

    async def _clear(self) -> bool:
        """Whether it is now as it was made."""
        connection = await self._connected()
        try:
            await connection.execute(_LEAVE)
            for (statement,) in await connection.fetch(_ADDED, self._tables):
                await connection.execute(statement)
            await connection.execute(_EMPTY)
            return bool(await connection.fetchval(_SHAPE) == self._shape)
        except asyncpg.UndefinedTableError:
            return False

    async def _connected(self) -> asyncpg.Connection:
        if self._connection is None or self._connection.is_closed():
            self._connection = await asyncpg.connect(self._url, timeout=_SECONDS)
        return self._connection

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self._thread.submit(self._loop.run, work).result(_SECONDS)
