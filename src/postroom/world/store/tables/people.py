"""People: one record each, their addresses on any channel, and what the settings file last said of them."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from postroom.domain.person import PersonRole
from postroom.world.store.tables.metadata import SHARED, metadata, one_of
from postroom.world.store.tables.partial_index import partial_index

_IS_OWNER = text("role = 'owner'")
_IS_VERIFIED = text("verified_at IS NOT NULL")

# `owner_agent` says in which book the person stands; the household's is that of its owner.
people = Table(
    "people",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner_agent", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("agent_address", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("trusted", Boolean, nullable=False),
    Column("zone", Text),
    Column("language", Text),
    Column("source", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("default_butler", Text),
    UniqueConstraint("owner_agent", "agent_address"),
    CheckConstraint(one_of("role", PersonRole), name="role"),
    Index("ix_people_owner_agent_id", "owner_agent", "id"),
    partial_index("ix_people_owner", "role", unique=True, where=_IS_OWNER),
    schema=SHARED,
)

# `folded` is the address as addresses are compared; proved to be one person's, it is no other's in that book.
person_addresses = Table(
    "person_addresses",
    metadata,
    Column("id", Text, primary_key=True),
    Column("person_id", Text, ForeignKey(people.c.id, ondelete="CASCADE"), nullable=False),
    Column("owner_agent", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("folded", Text, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("verified_at", BigInteger),
    Column("label", Text, nullable=False),
    UniqueConstraint("person_id", "channel", "folded"),
    Index("ix_person_addresses_owner_agent_folded_channel", "owner_agent", "folded", "channel"),
    partial_index("ix_person_addresses_verified", "owner_agent", "channel", "folded", unique=True, where=_IS_VERIFIED),
    schema=SHARED,
)

# No key to people: that a person of the file was deleted in the database is worth knowing too.
people_seeds = Table(
    "people_seeds",
    metadata,
    Column("person_id", Text, primary_key=True),
    Column("owner_agent", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("said", Text, nullable=False),
    Column("changed", Boolean, nullable=False),
    schema=SHARED,
)
