"""The statements of the switchboard's log, written by hand: every notify opens a row and closes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol

from sqlalchemy import Connection

from postroom.world.store.engine.columns import MARKS, columns, taking_apart
from postroom.world.store.engine.database import Database

Row = tuple[Any, ...]

OPENED: Final = "id, request_id, source_butler, caller, channel, intent, status, trace_id, duration_ms, created_at"
_OPEN_SQLITE: Final = f"INSERT INTO notifications_log ({OPENED}) VALUES ({', '.join('?' * 10)})"
_CLOSE_SQLITE: Final = """
    UPDATE notifications_log SET status = ?2, delivery_id = ?3, error_class = ?4, error_message = ?5,
        duration_ms = (?6 - created_at) / 1000.0 WHERE id = ?1
"""
_POSTGRES: Final = taking_apart(f"""
    WITH opened AS (
        INSERT INTO switchboard.notifications_log ({OPENED}) SELECT * FROM unnest(
            $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
            $9::float8[], $10::int8[]))
    UPDATE switchboard.notifications_log AS one SET status = told.status, delivery_id = told.delivery_id,
        error_class = told.error_class, error_message = told.error_message,
        duration_ms = (told.closed_at - one.created_at) / 1000.0
    FROM unnest($11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::int8[])
        AS told (id, status, delivery_id, error_class, error_message, closed_at)
    WHERE one.id = told.id
""")


class _Hot(Protocol):
    async def hot(self, work: Callable[[Any], Awaitable[None]]) -> None: ...


async def write_lines(database: Database | _Hot, opened: Sequence[Row], closed: Sequence[Row]) -> None:
    """No row is opened and closed in one call: whoever closes one has waited until it was opened."""
    if hasattr(database, "hot"):
        await database.hot(lambda connection: _postgres(connection, opened, closed))
    else:
        await database.write(lambda connection: _sqlite(connection, opened, closed))


async def _postgres(connection: Any, opened: Sequence[Row], closed: Sequence[Row]) -> None:
    await connection.execute(_POSTGRES, *columns(opened, width=10), *columns(closed, width=6), *MARKS)


def _sqlite(connection: Connection, opened: Sequence[Row], closed: Sequence[Row]) -> None:
    driver: Any = connection.connection.driver_connection
    driver.executemany(_OPEN_SQLITE, opened)
    driver.executemany(_CLOSE_SQLITE, closed)
