"""The console's sign-in links and sessions, by the digest of their secret."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Table, Text, text

from postroom.world.store.tables.metadata import SHARED, metadata
from postroom.world.store.tables.partial_index import partial_index

_UNSENT = text("channel IS NOT NULL AND sent_at IS NULL")

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
    Column("person_id", Text),
    Column("way", Text),
    Column("browser", Text),  # by digest: the one that asked, and the only one it is good in
    Column("channel", Text),  # where it is to be sent; unset: it was shown
    Column("address", Text),
    Column("sent_at", BigInteger),
    Index("ix_console_links_person_id", "person_id", "created_at"),
    partial_index("ix_console_links_unsent", "created_at", where=_UNSENT),
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
    Column("person_id", Text),
    Column("person_role", Text),
    Column("way", Text),
    Column("device", Text),
    Column("credential", Text),
    Index("ix_console_sessions_role_name", "role", "name"),
    Index("ix_console_sessions_person_id", "person_id"),
    schema=SHARED,
)
