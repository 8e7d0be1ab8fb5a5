"""An empty, migrated database of either kind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from postroom.ports import Ledger
from postroom.store.database import Database
from postroom.store.ledger_postgres import PostgresLedger
from postroom.store.ledger_sqlite import SqliteLedger
from postroom.store.postgres import PostgresDatabase
from postroom.store.sqlite import SqliteDatabase


@asynccontextmanager
async def migrated(url: str | Path) -> AsyncIterator[Database]:
    database: Database = SqliteDatabase(url) if isinstance(url, Path) else PostgresDatabase(url)
    try:
        await database.migrate()
        yield database
    finally:
        await database.close()


def ledger_of(database: Database) -> Ledger:
    if isinstance(database, SqliteDatabase):
        return SqliteLedger(database)
    assert isinstance(database, PostgresDatabase)
    return PostgresLedger(database)
