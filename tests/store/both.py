"""A migrated, empty database of either kind, for suites that hold both to the same."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection

from postroom.store.postgres import PostgresDatabase
from postroom.store.sqlite import SqliteDatabase
from postroom.store.tables import metadata

KINDS = ["sqlite", "postgres"]
_migrated: set[str] = set()


@asynccontextmanager
async def opened(
    kind: str, request: pytest.FixtureRequest, directory: Path
) -> AsyncIterator[SqliteDatabase | PostgresDatabase]:
    database = (
        SqliteDatabase(directory / "postroom.db")
        if kind == "sqlite"
        else PostgresDatabase(request.getfixturevalue("postgres_url"))
    )
    try:
        await _make_ready(database, "" if kind == "sqlite" else request.getfixturevalue("postgres_url"))
        yield database
    finally:
        await database.close()


async def _make_ready(database: SqliteDatabase | PostgresDatabase, url: str) -> None:
    if url not in _migrated:
        await database.migrate()
    if url:
        _migrated.add(url)
        await database.write(_empty)


def _empty(connection: Connection) -> None:
    for table in reversed(metadata.sorted_tables):
        connection.execute(table.delete())
