"""Intents, what happened to them, what was said, and whom to tell about it."""

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

from postroom.domain.intent import IntentStatus
from postroom.world.store.tables.metadata import SHARED, metadata, one_of
from postroom.world.store.tables.partial_index import partial_index

_DUE = text("next_at IS NOT NULL")
CARRIED = text("carried")

intents = Table(
    "intents",
    metadata,
    Column("id", Text, primary_key=True),
    Column("intent_type", Text, nullable=False),
    Column("correlation_id", Text, nullable=False),
    Column("from_agent", Text, nullable=False),
    Column("to_agent", Text, nullable=False),
    Column("handler", Text, nullable=False),
    Column("payload", Text, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("idempotency_key", Text),
    Column("fingerprint", Text, nullable=False),
    Column("submitted_by", Text, nullable=False),
    Column("reply_to", Text),
    Column("deadline_at", BigInteger),
    Column("macro_id", Text),
    Column("status", Text, nullable=False),
    Column("waiting_reason", Text),
    Column("seq", Integer, nullable=False),
    Column("plan", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("next_at", BigInteger),
    Column("carried", Boolean, nullable=False),
    Column("result", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    UniqueConstraint("from_agent", "idempotency_key"),
    CheckConstraint(one_of("status", IntentStatus), name="status"),
    Index("ix_intents_correlation_id", "correlation_id"),
    Index("ix_intents_from_agent_id", "from_agent", "id"),
    Index("ix_intents_to_agent_id", "to_agent", "id"),
    partial_index("ix_intents_next_at", "next_at", where=_DUE),
    partial_index("ix_intents_carried", "updated_at", where=CARRIED),
    schema=SHARED,
)

intent_members = Table(
    "intent_members",
    metadata,
    Column("agent", Text, primary_key=True),
    Column("intent_id", Text, ForeignKey(intents.c.id, ondelete="CASCADE"), primary_key=True),
    Column("position", BigInteger, nullable=False),
    Index("ix_intent_members_agent_position", "agent", "position"),
    schema=SHARED,
)

intent_events = Table(
    "intent_events",
    metadata,
    Column("intent_id", Text, ForeignKey(intents.c.id, ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("id", Text, nullable=False),
    Column("event_type", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text),
    Column("waiting_reason", Text),
    Column("payload", Text, nullable=False),
    Column("position", BigInteger, nullable=False),
    UniqueConstraint("id"),
    CheckConstraint(one_of("status", IntentStatus), name="status"),
    Index("ix_intent_events_position", "position", unique=True),
    schema=SHARED,
)

intent_messages = Table(
    "intent_messages",
    metadata,
    Column("id", Text, primary_key=True),
    Column("intent_id", Text, ForeignKey(intents.c.id, ondelete="CASCADE"), nullable=False),
    Column("author", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_intent_messages_intent_id_id", "intent_id", "id"),
    schema=SHARED,
)


inbound_offsets = Table(
    "inbound_offsets",
    metadata,
    Column("source", Text, primary_key=True),
    Column("position", BigInteger, nullable=False),
    schema=SHARED,
)
