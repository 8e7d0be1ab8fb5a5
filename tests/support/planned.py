"""How a database goes about its statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, event

Work = Callable[[Connection], Any]


def planned(connection: Connection, work: Work) -> str:
    """How the database goes about every statement of this work, with as much of a choice as a large table leaves it."""
    said: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_more: Any) -> None:
        said.append((statement, parameters))

    event.listen(connection, "before_cursor_execute", note)
    try:
        work(connection)
    finally:
        event.remove(connection, "before_cursor_execute", note)
    on_postgres = connection.dialect.name == "postgresql"
    if on_postgres:  # so few rows are read faster as they lie
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        connection.exec_driver_sql("SET LOCAL enable_bitmapscan = off")
        connection.exec_driver_sql("SET LOCAL enable_sort = off")
    how = "EXPLAIN " if on_postgres else "EXPLAIN QUERY PLAN "
    rows = [row for statement, values in said for row in connection.exec_driver_sql(how + statement, values)]
    return "\n".join(str(row[-1]) for row in rows) + "\n"
