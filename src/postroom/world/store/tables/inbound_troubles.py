"""What keeps a channel from hearing people, for as long as it does."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Table, Text

from postroom.world.store.tables.metadata import SHARED, metadata

inbound_troubles = Table(
    "inbound_troubles",
    metadata,
    Column("source", Text, primary_key=True),
    Column("sentence", Text, nullable=False),
    Column("since", BigInteger, nullable=False),
    schema=SHARED,
)
