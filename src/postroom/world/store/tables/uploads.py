"""Files that callers have handed in, by their hashes; the bytes lie elsewhere."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Table, Text, UniqueConstraint

from postroom.world.store.tables.metadata import SHARED, metadata

# `used_by` is the idempotency key of the delivery it went with; `key` is the caller's own, for the upload itself.
uploads = Table(
    "uploads",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("key", Text),
    Column("used_by", Text),
    Column("used_at", BigInteger),
    UniqueConstraint("owner", "key", name="uq_uploads_owner_key"),
    Index("ix_uploads_owner_created_at", "owner", "created_at"),
    Index("ix_uploads_sha256", "sha256"),
    Index("ix_uploads_expires_at", "expires_at"),
    schema=SHARED,
)
