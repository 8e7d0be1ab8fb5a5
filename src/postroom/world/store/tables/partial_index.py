"""An index over some rows of a table, with the same condition on every database."""

from __future__ import annotations

from sqlalchemy import Index, TextClause

from postroom.world.store.tables.postgres_options import FOR_POSTGRES


def partial_index(name: str, *columns: str, where: TextClause, unique: bool = False) -> Index:
    return Index(name, *columns, unique=unique, sqlite_where=where, info={FOR_POSTGRES: {"postgresql_where": where}})
