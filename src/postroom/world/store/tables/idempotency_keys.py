"""Keys under which callers made their calls, with the first answer to each."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text

from postroom.world.store.tables.metadata import SHARED, metadata

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("caller", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("fingerprint", Text, nullable=False),
    Column("reserved_id", Text, nullable=False),
    Column("status", Integer),
    Column("body", Text),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_idempotency_keys_caller_created_at", "caller", "created_at"),
    Index("ix_idempotency_keys_created_at", "created_at"),
    schema=SHARED,
)
