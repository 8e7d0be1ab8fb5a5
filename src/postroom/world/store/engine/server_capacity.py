"""How many connections the server has for people like us."""

from __future__ import annotations

from sqlalchemy import Connection, text

_ROOM = text(
    "SELECT sum(CASE name WHEN 'max_connections' THEN setting::int ELSE -setting::int END) FROM pg_settings "
    "WHERE name IN ('max_connections', 'superuser_reserved_connections')"
)


def connection_room(connection: Connection) -> int:
    """PostgreSQL only."""
    return int(connection.execute(_ROOM).scalar_one())
