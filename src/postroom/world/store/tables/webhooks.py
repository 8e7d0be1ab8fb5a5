"""Who wants to hear of events over HTTP, and what waits for them."""

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

from postroom.world.store.tables.metadata import SHARED, metadata, one_of
from postroom.world.store.tables.partial_index import partial_index

_PENDING = text("status = 'pending'")


webhook_subscriptions = Table(
    "webhook_subscriptions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner_agent", Text, nullable=False),
    Column("callback_url", Text, nullable=False),
    Column("event_types", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("description", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    UniqueConstraint("owner_agent", "callback_url"),
    schema=SHARED,
)


webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("id", Text, primary_key=True),
    Column("subscription_id", Text, ForeignKey(webhook_subscriptions.c.id, ondelete="CASCADE"), nullable=False),
    Column("event_type", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_at", BigInteger, nullable=False),
    Column("last_error", Text),
    Column("created_at", BigInteger, nullable=False),
    CheckConstraint(one_of("status", ("pending", "delivered", "dead_lettered")), name="status"),
    partial_index("ix_webhook_deliveries_next_at", "next_at", where=_PENDING),
    Index("ix_webhook_deliveries_subscription_id", "subscription_id"),
    partial_index("ix_webhook_deliveries_queue", "subscription_id", "next_at", "id", where=_PENDING),
    schema=SHARED,
)
