"""What a provider sent us by itself: each update once, with its words until it is handled."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, Table, Text, text

from postroom.world.store.tables.metadata import SHARED, metadata

WAITING = text("handled_at IS NULL")

pushed_updates = Table(
    "pushed_updates",
    metadata,
    Column("channel", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("content", Text, nullable=False),
    Column("received_at", BigInteger, nullable=False),
    Column("handled_at", BigInteger),
    PrimaryKeyConstraint("channel", "number"),
    Index("ix_pushed_updates_waiting", "channel", "number", postgresql_where=WAITING, sqlite_where=WAITING),
    Index("ix_pushed_updates_received_at", "channel", "received_at"),
    schema=SHARED,
)
