"""Which processes send for this household; each writes every few seconds that it lives."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Table, Text

from postroom.world.store.tables.metadata import SHARED, metadata

workers = Table(
    "workers",
    metadata,
    Column("name", Text, primary_key=True),
    Column("alone", Boolean, nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    schema=SHARED,
)
