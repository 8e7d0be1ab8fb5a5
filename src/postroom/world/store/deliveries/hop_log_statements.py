"""The statements of the switchboard's log, written by hand: every notify opens a row and closes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from postroom.world.store.deliveries.hop_lines import HopLines
from postroom.world.store.engine.columns import MARKS, columns, taking_apart
from postroom.world.store.engine.database import Database

OPENED: Final = "id, request_id, source_butler, caller, channel, intent, status, trace_id, duration_ms, created_at"
_OPEN_SQLITE: Final = f"INSERT INTO notifications_log ({OPENED}) VALUES ({', '.join('?' * 10)})"
_CLOSE_SQLITE: Final = """
    UPDATE notifications_log SET status = ?2, delivery_id = ?3, error_class = ?4, error_message = ?5,
        duration_ms = (?6 - created_at) / 1000.0 WHERE id = ?1
"""


def lines_written(first: int) -> str:
    """As parts of a statement whose parameters from number `first` on are the columns of opened and closed rows."""
    types = (*("text",) * 8, "float8", "int8", *("text",) * 5, "int8")
    arrays = [f"${number}::{type_}[]" for number, type_ in enumerate(types, first)]
    return f"""
    lines_opened AS (
        INSERT INTO switchboard.notifications_log ({OPENED}) SELECT * FROM unnest({", ".join(arrays[:10])})),
    lines_closed AS (
        UPDATE switchboard.notifications_log AS one SET status = told.status, delivery_id = told.delivery_id,
            error_class = told.error_class, error_message = told.error_message,
            duration_ms = (told.closed_at - one.created_at) / 1000.0
        FROM unnest({", ".join(arrays[10:])})
            AS told (id, status, delivery_id, error_class, error_message, closed_at)
        WHERE one.id = told.id)
    """


_POSTGRES: Final = taking_apart(f"WITH {lines_written(1)} SELECT 1")


def line_columns(lines: HopLines) -> list[str]:
    return [*columns(lines.opened, width=10), *columns(lines.closed, width=6)]


class _Hot(Protocol):
    async def hot(self, work: Callable[[Any], Awaitable[None]]) -> None: ...


async def write_lines(database: Database | _Hot, lines: HopLines) -> None:
    """No row is opened and closed in one call: whoever closes one has waited until it was opened."""
    if hasattr(database, "hot"):
        await database.hot(lambda connection: connection.execute(_POSTGRES, *line_columns(lines), *MARKS))
    else:
        await database.write(lambda connection: write_sqlite(connection.connection.driver_connection, lines))


def write_sqlite(driver: Any, lines: HopLines) -> None:
    driver.executemany(_OPEN_SQLITE, lines.opened)
    driver.executemany(_CLOSE_SQLITE, lines.closed)
