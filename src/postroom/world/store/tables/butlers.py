"""What butlers keep: state and appointments; what the switchboard keeps: its registry."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Integer, Table, Text, text

from postroom.world.store.tables.metadata import SHARED, SWITCHBOARD, metadata
from postroom.world.store.tables.partial_index import partial_index

_WAITING = text("status = 'waiting'")

butler_state = Table(
    "butler_state",
    metadata,
    Column("butler", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    schema=SHARED,
)

appointments = Table(
    "appointments",
    metadata,
    Column("id", Text, primary_key=True),
    Column("butler", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("work", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("result", Text),
    Column("created_at", BigInteger, nullable=False),
    partial_index("ix_appointments_due", "butler", "due_at", where=_WAITING),
    schema=SHARED,
)

butler_registry = Table(
    "butler_registry",
    metadata,
    Column("name", Text, primary_key=True),
    Column("endpoint_url", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("modules", Text, nullable=False),
    Column("liveness_ttl_seconds", Float, nullable=False),
    Column("registered_at", BigInteger, nullable=False),
    Column("last_seen_at", BigInteger, nullable=False),
    Column("quarantine_reason", Text),
    schema=SWITCHBOARD,
)
