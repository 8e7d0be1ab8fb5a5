"""Codes by which people prove an address, by their digests, and how many wrong ones a sender has sent of late."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, PrimaryKeyConstraint, Table, Text

from postroom.world.store.tables.metadata import SHARED, metadata
from postroom.world.store.tables.people import people

# `used_by` is the message that the code came in, so that the same message read twice is one pairing.
pairing_codes = Table(
    "pairing_codes",
    metadata,
    Column("id", Text, primary_key=True),
    Column("person_id", Text, ForeignKey(people.c.id, ondelete="CASCADE"), nullable=False),
    Column("channel", Text, nullable=False),
    Column("digest", Text, nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("used_at", BigInteger),
    Column("used_by", Text),
    Index("ix_pairing_codes_person_id", "person_id"),
    schema=SHARED,
)

pairing_wrong_codes = Table(
    "pairing_wrong_codes",
    metadata,
    Column("channel", Text, nullable=False),
    Column("sender", Text, nullable=False),
    Column("count", Integer, nullable=False),
    Column("last_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("channel", "sender"),
    schema=SHARED,
)
