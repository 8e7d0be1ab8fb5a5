"""How SQLite goes about the statements of a piece of work: which index it uses, and where it reads everything."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from postroom.kernel.database.engine import Database
from postroom.kernel.database.sqlite import SqliteDatabase


@contextmanager
def query_plans(database: Database) -> Iterator[list[str]]:
    """Fills up, step by step, while the work runs."""
    assert isinstance(database, SqliteDatabase)
    steps: list[str] = []
    beside = sqlite3.connect(database._path, check_same_thread=False)

    def explain(_connection: object, _cursor: object, statement: str, values: Any, *_: object) -> None:
        if statement.lstrip().startswith(("SELECT", "UPDATE", "WITH")):
            steps.extend(row[3] for row in beside.execute(f"EXPLAIN QUERY PLAN {statement}", values))

    event.listen(database._engine, "before_cursor_execute", explain)
    try:
        yield steps
    finally:
        event.remove(database._engine, "before_cursor_execute", explain)
        beside.close()
