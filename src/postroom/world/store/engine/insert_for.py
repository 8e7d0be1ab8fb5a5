"""INSERT with ON CONFLICT, which every database has and the library makes for each of them alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import sqlite

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql


def insert_for(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql  # 2 MB, which a household on SQLite does without

        return postgresql.insert(table)
    return sqlite.insert(table)
