"""The switchboard's record of every notify, refused ones included."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Index, Table, Text

from postroom.world.store.tables.metadata import SWITCHBOARD, metadata

notifications_log = Table(
    "notifications_log",
    metadata,
    Column("id", Text, primary_key=True),
    Column("request_id", Text, nullable=False),
    Column("source_butler", Text, nullable=False),
    Column("caller", Text, nullable=False),
    Column("channel", Text),
    Column("intent", Text),
    Column("status", Text, nullable=False),
    Column("delivery_id", Text),
    Column("error_class", Text),
    Column("error_message", Text),
    Column("trace_id", Text),
    Column("duration_ms", Float, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_notifications_log_request_id", "request_id"),
    Index("ix_notifications_log_source_butler_created_at", "source_butler", "created_at"),
    Index("ix_notifications_log_created_at", "created_at"),
    schema=SWITCHBOARD,
)
