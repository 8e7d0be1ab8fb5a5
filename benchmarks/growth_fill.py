"""Put a past of any length into a database, as fast as it takes it: made there, and indexed when it is all there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from sqlalchemy import Connection

from benchmarks.growth_rows import EVERY_MS, FILLINGS, PEOPLE, PERSONS, Filling
from postroom.kernel.database.engine import Database
from postroom.kernel.database.postgres import PostgresDatabase

_AT_ONCE: Final = 50_000
_BUILDING: Final = 20_000  # with fewer rows the indexes stay: dropping and building them takes longer
_TABLES: Final = sorted({one.table for one in FILLINGS})
_ON_POSTGRES: Final = """
    SELECT n.nspname || '.' || c.relname, pg_get_indexdef(c.oid)
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
        JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE NOT i.indisunique AND n.nspname IN ('messenger', 'switchboard', 'shared') AND t.relname IN ({tables})
"""
_ON_SQLITE: Final = """
    SELECT name, sql FROM sqlite_master
    WHERE type = 'index' AND sql IS NOT NULL AND sql NOT LIKE 'CREATE UNIQUE%' AND tbl_name IN ({tables})
"""
_FAST: Final = ("SET LOCAL maintenance_work_mem = '512MB'", "SET LOCAL synchronous_commit = off")


async def filled(database: Database, size: int, now_ms: int) -> None:
    """The same present, and so much past behind it."""
    await database.write(partial(fill, filling=PERSONS, first=0, last=PEOPLE - 1, now_ms=now_ms))
    await lengthen(database, size, now_ms)


async def lengthen(database: Database, size: int, now_ms: int) -> None:
    without = await database.write(_dropped) if size >= _BUILDING else []
    for first in range(1, size + 1, _AT_ONCE):
        last = min(first + _AT_ONCE - 1, size)
        for one in FILLINGS:
            await database.write(partial(fill, filling=one, first=first, last=last, now_ms=now_ms))
    for definition in without:
        await database.write(partial(_build, definition=definition))
    if isinstance(database, PostgresDatabase):  # as it does by itself after a while
        connection = await database.connect()
        await connection.execute("VACUUM ANALYZE", timeout=1200)
        await connection.close()


def fill(connection: Connection, filling: Filling, first: int, last: int, now_ms: int) -> None:
    """The rows that belong to the deliveries from the first number to the last, both included."""
    start = -(-first // filling.every) * filling.every
    if start > last:
        return
    on_postgres = connection.dialect.name == "postgresql"
    if on_postgres:  # what is written here is consistent as it is, and need not be looked up row by row
        connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        _hurry(connection)
    names = _names(filling, now_ms, on_postgres)
    values = ", ".join(expression.format(**names) for expression in filling.columns.values())
    table = f"{filling.schema}.{filling.table}" if on_postgres else filling.table
    connection.exec_driver_sql(
        f"INSERT INTO {table} ({', '.join(filling.columns)}) "
        f"SELECT {values} FROM {_numbers(start, last, filling.every, on_postgres)}"
    )


def _dropped(connection: Connection) -> Sequence[str]:
    """All indexes but those that keep rows unique, as they are to be made again."""
    asked = _ON_POSTGRES if connection.dialect.name == "postgresql" else _ON_SQLITE
    named = ", ".join(f"'{one}'" for one in _TABLES)
    found = connection.exec_driver_sql(asked.format(tables=named)).all()
    for name, _ in found:
        connection.exec_driver_sql(f"DROP INDEX {name}")
    return [definition for _, definition in found]


def _build(connection: Connection, definition: str) -> None:
    if connection.dialect.name == "postgresql":
        _hurry(connection)
    connection.exec_driver_sql(definition)


def _hurry(connection: Connection) -> None:
    for one in _FAST:
        connection.exec_driver_sql(one)


def _numbers(start: int, last: int, step: int, on_postgres: bool) -> str:
    if on_postgres:
        return f"generate_series({start}, {last}, {step}) AS numbers (n)"
    return (
        f"(WITH RECURSIVE c (n) AS (VALUES ({start}) UNION ALL SELECT n + {step} FROM c WHERE n + {step} <= {last}) "
        "SELECT n FROM c)"
    )


def _names(filling: Filling, now_ms: int, on_postgres: bool) -> dict[str, str]:
    """Ids as they are minted: the milliseconds first, then what makes them unique."""
    moment = f"({now_ms} - CAST({EVERY_MS} AS BIGINT) * n)"
    hexed = f"lpad(to_hex({moment}), 12, '0')" if on_postgres else f"printf('%012x', {moment})"
    tail = "lpad(n::text, 12, '0')" if on_postgres else "printf('%012d', n)"
    return {
        "id": f"(substr({hexed}, 1, 8) || '-' || substr({hexed}, 9) || '-7000-8000-' || {tail})",
        "at": f"({moment} * 1000)",
        "now": f"({now_ms} * 1000)",
        "k": f"(n / {filling.every})",
    }
