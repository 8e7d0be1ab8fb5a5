"""A migrated database of each kind, for suites that must hold on both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from postroom.store.database import Database
from postroom.store.postgres import PostgresDatabase
from postroom.store.sqlite import SqliteDatabase

KINDS = ("sqlite", "postgres")


@asynccontextmanager
async def opened(kind: str, folder: Path, postgres_url: str | None) -> AsyncIterator[Database]:
    database: Database
    if kind == "sqlite":
        database = SqliteDatabase(folder / "postroom.db")
    else:
        assert postgres_url is not None
        database = PostgresDatabase(postgres_url)
    try:
        await database.migrate()
        yield database
    finally:
        await database.close()
