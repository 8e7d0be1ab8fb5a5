"""Addresses from which mail came back, whoever they belong to: written to no more, or only doubted."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, PrimaryKeyConstraint, Table, Text

from postroom.domain.closed_address import Closing
from postroom.world.store.tables.metadata import SHARED, metadata, one_of

# `folded` is the address as addresses are compared. A stranger's is here, too, so there is no key to people.
closed_addresses = Table(
    "closed_addresses",
    metadata,
    Column("channel", Text, nullable=False),
    Column("folded", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("words", Text, nullable=False),
    Column("delivery_id", Text, nullable=False),
    Column("closed_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("channel", "folded"),
    CheckConstraint(one_of("reason", Closing), name="reason"),
    schema=SHARED,
)
