"""The sessions of every butler's model: asked for, running and ended."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, Integer, Table, Text, UniqueConstraint, text

from postroom.domain.session import SessionStatus
from postroom.world.store.tables.metadata import SHARED, metadata, one_of
from postroom.world.store.tables.partial_index import partial_index

OPEN = text("status IN ('queued', 'running')")

sessions = Table(
    "sessions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("butler", Text, nullable=False),
    Column("runtime", Text, nullable=False),
    Column("trigger_source", Text, nullable=False),
    Column("caller", Text, nullable=False),
    Column("request_key", Text),
    Column("request_id", Text),
    Column("request_context", Text),
    Column("prompt", Text, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("crashes", Integer, nullable=False),
    Column("error_class", Text),
    Column("error_message", Text),
    Column("transcript", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("finished_at", BigInteger),
    UniqueConstraint("butler", "request_key"),
    CheckConstraint(one_of("status", SessionStatus), name="status"),
    Index("ix_sessions_butler_id", "butler", "id"),
    Index("ix_sessions_request_id", "request_id"),
    partial_index("ix_sessions_open", "butler", "status", "id", where=OPEN),
    schema=SHARED,
)
