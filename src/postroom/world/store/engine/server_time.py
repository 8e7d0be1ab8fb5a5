"""What time it is by the server's clock."""

from __future__ import annotations

from sqlalchemy import Connection, text

_NOW = text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")


def server_time_us(connection: Connection) -> int:
    """PostgreSQL only."""
    return int(connection.execute(_NOW).scalar_one())
