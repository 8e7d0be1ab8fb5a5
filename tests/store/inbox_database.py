"""A database with an empty inbox, of either kind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, delete

from postroom.store.postgres import PostgresDatabase
from postroom.store.sqlite import SqliteDatabase
from postroom.store.tables.inbox import deferred_emails, notification_preferences, notifications

KINDS = ["sqlite", "postgres"]

AnyDatabase = SqliteDatabase | PostgresDatabase


@asynccontextmanager
async def empty_inbox(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AnyDatabase]:
    """Which kind, the fixture's parameter says."""
    database: AnyDatabase
    if request.param == "sqlite":
        database = SqliteDatabase(tmp_path / "inbox.db")
    else:
        database = PostgresDatabase(request.getfixturevalue("postgres_url"))
    try:
        await database.migrate()
        await database.write(_clear)
        yield database
    finally:
        await database.close()


def _clear(connection: Connection) -> None:
    for table in (deferred_emails, notification_preferences, notifications):
        connection.execute(delete(table))
