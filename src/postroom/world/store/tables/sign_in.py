"""Who may sign in without a token, the passkeys they registered, and the challenges those answer."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Table, Text

from postroom.world.store.tables.metadata import SHARED, metadata
from postroom.world.store.tables.people import people

sign_in_grants = Table(
    "sign_in_grants",
    metadata,
    Column("person_id", Text, ForeignKey(people.c.id, ondelete="CASCADE"), primary_key=True),
    Column("invited_by", Text, nullable=False),
    Column("invited_at", BigInteger, nullable=False),
    schema=SHARED,
)

# Every time a link was asked for, whether or not a person was found; the sender by digest.
sign_in_attempts = Table(
    "sign_in_attempts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("sender", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Index("ix_sign_in_attempts_sender_at", "sender", "at"),
    schema=SHARED,
)

passkeys = Table(
    "passkeys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("person_id", Text, ForeignKey(people.c.id, ondelete="CASCADE"), nullable=False),
    Column("public_key", Text, nullable=False),
    Column("counter", BigInteger, nullable=False),
    Column("transports", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("last_used_at", BigInteger),
    Index("ix_passkeys_person_id", "person_id"),
    schema=SHARED,
)

passkey_challenges = Table(
    "passkey_challenges",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("ceremony", Text, nullable=False),
    Column("browser", Text, nullable=False),
    Column("person_id", Text),
    Column("expires_at", BigInteger, nullable=False),
    Index("ix_passkey_challenges_expires_at", "expires_at"),
    schema=SHARED,
)
