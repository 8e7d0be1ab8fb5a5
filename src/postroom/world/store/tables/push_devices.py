"""Browsers that show what the household sends: each an address of a person, with its secrets sealed."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Table, Text, UniqueConstraint

from postroom.world.store.tables.metadata import SHARED, metadata
from postroom.world.store.tables.people import people

# `mark` is a digest of the endpoint: the same browser again is the same device. `sealed` is empty once it has ended.
push_devices = Table(
    "push_devices",
    metadata,
    Column("id", Text, primary_key=True),
    Column("channel", Text, nullable=False),
    Column("person_id", Text, ForeignKey(people.c.id, ondelete="CASCADE"), nullable=False),
    Column("name", Text, nullable=False),
    Column("mark", Text, nullable=False),
    Column("sealed", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("last_used_at", BigInteger),
    Column("ended_at", BigInteger),
    UniqueConstraint("channel", "mark"),
    Index("ix_push_devices_person_id", "person_id"),
    schema=SHARED,
)
