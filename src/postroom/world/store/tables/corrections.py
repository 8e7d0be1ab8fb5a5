"""Corrections of deliveries: who asked for which version, when, and what carries it, never the words themselves."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

from postroom.domain.correction import CorrectionAct, How
from postroom.world.store.tables.deliveries import delivery_requests
from postroom.world.store.tables.metadata import MESSENGER, metadata, one_of

delivery_corrections = Table(
    "delivery_corrections",
    metadata,
    Column("id", Text, primary_key=True),
    Column("delivery_id", Text, ForeignKey(delivery_requests.c.id, ondelete="CASCADE"), nullable=False),
    Column("act", Text, nullable=False),
    Column("how", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("actor", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("key", Text),
    Column("reason", Text),
    Column("carried_key", Text),
    Column("at", BigInteger, nullable=False),
    UniqueConstraint("key"),
    UniqueConstraint("carried_key"),
    CheckConstraint(one_of("act", CorrectionAct), name="act"),
    CheckConstraint(one_of("how", How), name="how"),
    Index("ix_delivery_corrections_delivery_id", "delivery_id"),
    schema=MESSENGER,
)
