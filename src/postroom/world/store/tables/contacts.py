"""Contact books: the names of people, what was confirmed and what was offered."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
)

from postroom.world.store.tables.metadata import SHARED, metadata
from postroom.world.store.tables.people import people

contact_books = Table(
    "contact_books",
    metadata,
    Column("owner_agent", Text, primary_key=True),
    Column("version", Integer, nullable=False),
    schema=SHARED,
)

contact_aliases = Table(
    "contact_aliases",
    metadata,
    Column("id", Text, primary_key=True),
    Column("contact_id", Text, ForeignKey(people.c.id, ondelete="CASCADE"), nullable=False),
    Column("owner_agent", Text, nullable=False),
    Column("alias", Text, nullable=False),
    Column("is_name", Boolean, nullable=False),
    Column("normal", Text, nullable=False),
    Column("folded", Text, nullable=False),
    Column("latin", Text, nullable=False),
    Column("skeletons", Text, nullable=False),
    Column("script", Text, nullable=False),
    UniqueConstraint("contact_id", "normal"),
    Index("ix_contact_aliases_owner_agent_normal", "owner_agent", "normal"),
    schema=SHARED,
)

contact_memory = Table(
    "contact_memory",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner_agent", Text, nullable=False),
    Column("query", Text, nullable=False),
    Column("contact_id", Text, ForeignKey(people.c.id, ondelete="CASCADE"), nullable=False),
    Column("agent_address", Text, nullable=False),
    Column("alias", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("rival", Float, nullable=False),
    Column("book_version", Integer, nullable=False),
    Column("source", Text, nullable=False),
    Column("confirm_count", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("confirmed_at", BigInteger, nullable=False),
    UniqueConstraint("owner_agent", "query"),
    Index("ix_contact_memory_contact_id", "contact_id"),
    schema=SHARED,
)

contact_offers = Table(
    "contact_offers",
    metadata,
    Column("token_hash", Text, primary_key=True),
    Column("owner_agent", Text, nullable=False),
    Column("query", Text, nullable=False),
    Column("candidates", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index("ix_contact_offers_expires_at", "expires_at"),
    schema=SHARED,
)
