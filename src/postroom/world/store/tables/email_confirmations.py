"""Addresses that people have yet to confirm, by the digest of the secret in the link."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text

from postroom.domain.confirmation_origin import Purpose
from postroom.world.store.tables.metadata import SHARED, metadata

email_confirmations = Table(
    "email_confirmations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("user_id", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("digest", Text, unique=True),
    Column("attempts", Integer, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("handed_over_at", BigInteger),
    Column("confirmed_at", BigInteger),
    Column("purpose", Text, nullable=False, server_default=Purpose.INBOX),
    Column("channel", Text, nullable=False, server_default="email"),
    Index("ix_email_confirmations_user_id_created_at", "user_id", "created_at"),
    schema=SHARED,
)
