"""Run plain SQL that reads the same on SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable

from alembic import op


def on_postgres() -> bool:
    return op.get_bind().dialect.name == "postgresql"


def run(statements: Iterable[str]) -> None:
    """`{messenger}`, `{switchboard}` and `{shared}` stand for the schema, which SQLite has not."""
    names = ("messenger", "switchboard", "shared")
    prefixes = {name: f"{name}." if on_postgres() else "" for name in names}
    for statement in statements:
        op.get_bind().exec_driver_sql(statement.format(**prefixes))
