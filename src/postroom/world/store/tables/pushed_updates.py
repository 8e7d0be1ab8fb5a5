"""What a provider sent us by itself: each update once, with its words until it is handled."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, Table, Text, text

from postroom.world.store.tables.metadata import SHARED, metadata
from postroom.world.store.tables.partial_index import partial_index

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
    partial_index("ix_pushed_updates_waiting", "channel", "number", where=WAITING),
    Index("ix_pushed_updates_received_at", "channel", "received_at"),
    schema=SHARED,
)
