"""A migrated, empty database of either kind, for the length of a test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from postroom.delivery.store.ledger import DeliveryLedger
from postroom.delivery.store.postgres import PostgresLedger
from postroom.delivery.store.sqlite import SqliteLedger
from postroom.kernel.database.engine import Database
from postroom.kernel.database.postgres import PostgresDatabase
from postroom.kernel.database.sqlite import SqliteDatabase
from tests.services.ready_file import ready_file

KINDS = ("sqlite", "postgres")


@asynccontextmanager
async def opened_database(kind: str, folder: Path, request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    """PostgreSQL is started only when it is asked for."""
    if kind == "sqlite":
        async with opened_file(folder) as database:
            yield database
    else:
        async with _open(PostgresDatabase(request.getfixturevalue("postgres_url"))) as database:
            yield database


def opened_file(folder: Path) -> AbstractAsyncContextManager[Database]:
    return _open(SqliteDatabase(ready_file(folder / "postroom.db")))


@asynccontextmanager
async def _open(database: Database) -> AsyncIterator[Database]:
    try:
        yield database
    finally:
        await database.close()


def ledger_of(database: Database) -> DeliveryLedger:
    if isinstance(database, SqliteDatabase):
        return SqliteLedger(database)
    assert isinstance(database, PostgresDatabase)
    return PostgresLedger(database)
