"""Rows for every table of a database at any revision, by what the database says of its tables."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any, Final

from sqlalchemy import BigInteger, Boolean, Connection, Float, Integer, MetaData, Table, inspect, select

from postroom.world.store.tables import SCHEMAS

Rows = dict[str, list[dict[str, Any]]]

_PART: Final = "delivery_archive_rest"
_NOT_OURS: Final = frozenset({"postroom_version", _PART})
_ONE_OF: Final = re.compile(r"\(?(\w+)\)?(?:::\w+)? (?:IN \(|= ANY \(\(?ARRAY\[)'([^']+)'")


def reflected(connection: Connection) -> dict[str, Table]:
    """By name, each after those it refers to."""
    found = MetaData()
    for schema in SCHEMAS if connection.dialect.name == "postgresql" else [None]:
        found.reflect(connection, schema=schema)
    return {one.name: one for one in found.sorted_tables if one.name not in _NOT_OURS}


def fill(
    connection: Connection, special: Mapping[str, list[dict[str, Any]]], rows: int = 2, only: Container[str] = ()
) -> None:
    """`special` says what stands in some columns of a table's rows, one after the other; `only` some tables, or all."""
    has_archive = inspect(connection).has_table("delivery_archive", "messenger")
    if connection.dialect.name == "postgresql" and has_archive:  # the archive is in parts, of which there is none yet
        made = f"CREATE TABLE messenger.{_PART} PARTITION OF messenger.delivery_archive DEFAULT"
        connection.exec_driver_sql(made)
    chosen_tables = {name: one for name, one in reflected(connection).items() if not only or name in only}
    for name, table in chosen_tables.items():
        allowed = _allowed(connection, table)
        for number in range(max(rows, len(special.get(name, [])))):
            chosen = special.get(name, [])
            more = chosen[number] if number < len(chosen) else {}
            connection.execute(table.insert(), _row(table, number, allowed) | more)


def everything(connection: Connection) -> Rows:
    return {
        name: [
            {str(column): value for column, value in row.items()}
            for row in connection.execute(select(table).order_by(*table.primary_key)).mappings()
        ]
        for name, table in reflected(connection).items()
    }


def _allowed(connection: Connection, table: Table) -> dict[str, str]:
    """Of columns that take a few words only, one of them."""
    checks = inspect(connection).get_check_constraints(table.name, schema=table.schema)
    found = (_ONE_OF.search(" ".join(check["sqltext"].split())) for check in checks)
    return {match[1]: match[2] for match in found if match}


def _row(table: Table, number: int, allowed: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for column in table.columns:
        if column.computed is not None or column.identity is not None:
            continue
        if column.name in allowed:
            values[column.name] = allowed[column.name]
        elif column.foreign_keys:
            other = next(iter(column.foreign_keys)).column
            values[column.name] = _value(other.table.name, other.name, other.type, number)
        else:
            values[column.name] = _value(table.name, column.name, column.type, number)
    return values


def _value(table: str, column: str, kind: Any, number: int) -> Any:
    match kind:
        case Boolean():
            return number % 2 == 0
        case BigInteger() | Integer():
            return 1_800_000_000_000_000 + number if isinstance(kind, BigInteger) else number + 1
        case Float():
            return 0.5
        case _:
            return f"{table} {column} {number}"
