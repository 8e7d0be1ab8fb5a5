"""Acts of people that have no record of their own elsewhere."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, Table, Text

from postroom.domain.audit import AuditKind
from postroom.world.store.tables.metadata import SHARED, metadata, one_of

audit_entries = Table(
    "audit_entries",
    metadata,
    Column("id", Text, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("act", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("door", Text, nullable=False),
    CheckConstraint(one_of("kind", AuditKind), name="kind"),
    Index("ix_audit_entries_at_id", "at", "id"),
    Index("ix_audit_entries_actor", "actor", "at", "id"),
    Index("ix_audit_entries_kind", "kind", "at", "id"),
    schema=SHARED,
)
