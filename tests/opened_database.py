"""A migrated database of either kind, for the length of a test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from postroom.store.database import Database
from postroom.store.sqlite import SqliteDatabase

KINDS = ("sqlite", "postgres")


@asynccontextmanager
async def opened_database(kind: str, folder: Path, request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    """PostgreSQL gets a database of its own, made only when it is asked for."""
    database = _made(kind, folder, request)
    try:
        await database.migrate()
        yield database
    finally:
        await database.close()


def _made(kind: str, folder: Path, request: pytest.FixtureRequest) -> Database:
    if kind == "sqlite":
        return SqliteDatabase(folder / "postroom.db")
    from postroom.store.postgres import PostgresDatabase

    return PostgresDatabase(request.getfixturevalue("new_postgres_url"))
