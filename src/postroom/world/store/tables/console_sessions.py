"""The console's sign-in links and sessions, by the digest of their secret."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Table, Text

from postroom.world.store.tables.metadata import SHARED, metadata

console_links = Table(
    "console_links",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("used_at", BigInteger),
    Column("token_ids", Text),
    schema=SHARED,
)

console_sessions = Table(
    "console_sessions",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Column("token_ids", Text),
    Index("ix_console_sessions_role_name", "role", "name"),
    schema=SHARED,
)
