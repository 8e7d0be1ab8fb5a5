"""The ledger of deliveries: requests, attempts, receipts, late news, dead letters, refusals, circuits."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from postroom.domain.delivery import AttemptResult, Intent, OnUncertain, QuarantineReason, Status
from postroom.world.store.tables.delivery_columns import DELIVERY_COLUMNS
from postroom.world.store.tables.metadata import MESSENGER, metadata, one_of
from postroom.world.store.tables.partial_index import partial_index

_OPEN = text("status IN ('pending', 'in_progress')")
_PENDING = text("status = 'pending'")
_IN_PROGRESS = text("status = 'in_progress'")
_UNDECIDED = text("discarded_at IS NULL")
_UNTOUCHED = text("discarded_at IS NULL AND replay_count = 0")
_REPLAYED = text("replay_of IS NOT NULL")
_FOR_INTENTS = text("origin_butler = 'intents'")
# A delivery that simply arrives is in none of these, so the index over them costs it nothing.
RARE: Final = ("awaiting_approval", "failed", "dead_lettered")
IS_RARE: Final = text("status IN ('awaiting_approval', 'failed', 'dead_lettered')")

delivery_requests = Table(
    "delivery_requests",
    metadata,
    *(column.in_table() for column in DELIVERY_COLUMNS),
    UniqueConstraint("idempotency_key"),
    CheckConstraint(one_of("status", Status), name="status"),
    CheckConstraint(one_of("intent", Intent), name="intent"),
    CheckConstraint(one_of("on_uncertain", OnUncertain), name="on_uncertain"),
    Index("ix_delivery_requests_request_id", "request_id"),
    Index("ix_delivery_requests_origin_butler_id", "origin_butler", "id"),
    Index("ix_delivery_requests_channel_status_id", "channel", "status", "id"),
    Index("ix_delivery_requests_created_at", "created_at"),
    partial_index("ix_delivery_requests_replay_of", "replay_of", where=_REPLAYED),
    partial_index("ix_delivery_requests_due", "channel", "origin_butler", "priority", "not_before", where=_PENDING),
    partial_index("ix_delivery_requests_wake", "not_before", where=_PENDING),
    partial_index("ix_delivery_requests_order", "order_key", "id", where=_OPEN),
    partial_index("ix_delivery_requests_rare", "status", "id", where=IS_RARE),
    partial_index("ix_delivery_requests_intents", "address", "id", where=_FOR_INTENTS),
    partial_index("ix_delivery_requests_lease", "lease_until", where=_IN_PROGRESS),
    schema=MESSENGER,
)

delivery_attempts = Table(
    "delivery_attempts",
    metadata,
    Column("delivery_request_id", Text, ForeignKey(delivery_requests.c.id, ondelete="CASCADE"), primary_key=True),
    Column("attempt_number", Integer, primary_key=True),
    Column("started_at", BigInteger, nullable=False),
    Column("completed_at", BigInteger, nullable=False),
    Column("latency_ms", Float, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("error_class", Text),
    Column("error_message", Text),
    Column("provider_response", Text),
    Column("asked", Text),
    CheckConstraint(one_of("outcome", AttemptResult), name="outcome"),
    schema=MESSENGER,
)

delivery_receipts = Table(
    "delivery_receipts",
    metadata,
    Column("delivery_request_id", Text, ForeignKey(delivery_requests.c.id, ondelete="CASCADE"), primary_key=True),
    Column("part", Integer, primary_key=True),
    Column("provider_delivery_id", Text, nullable=False),
    Column("receipt_type", Text, nullable=False),
    Column("received_at", BigInteger, nullable=False),
    Column("conversation", Text),
    schema=MESSENGER,
)

delivery_news = Table(
    "delivery_news",
    metadata,
    Column("delivery_request_id", Text, ForeignKey(delivery_requests.c.id, ondelete="CASCADE"), primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("event_id", Text, primary_key=True),
    Column("words", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    schema=MESSENGER,
)

# What a person wrote back, before quotes and signatures were taken away from it.
delivery_replies = Table(
    "delivery_replies",
    metadata,
    Column("delivery_request_id", Text, ForeignKey(delivery_requests.c.id, ondelete="CASCADE"), primary_key=True),
    Column("event_id", Text, primary_key=True),
    Column("sender", Text, nullable=False),
    Column("original", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    schema=MESSENGER,
)

delivery_dead_letter = Table(
    "delivery_dead_letter",
    metadata,
    Column("id", Text, primary_key=True),
    Column("delivery_request_id", Text, ForeignKey(delivery_requests.c.id, ondelete="CASCADE"), nullable=False),
    Column("quarantine_reason", Text, nullable=False),
    Column("error_class", Text),
    Column("error_summary", Text),
    Column("total_attempts", Integer, nullable=False),
    Column("replay_count", Integer, nullable=False),
    Column("discarded_at", BigInteger),
    Column("discard_reason", Text),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("delivery_request_id"),
    CheckConstraint(one_of("quarantine_reason", QuarantineReason), name="quarantine_reason"),
    Index("ix_delivery_dead_letter_created_at", "created_at"),
    partial_index("ix_delivery_dead_letter_undecided", "id", where=_UNDECIDED),
    partial_index("ix_delivery_dead_letter_open", "quarantine_reason", where=_UNTOUCHED),
    schema=MESSENGER,
)

delivery_refusals = Table(
    "delivery_refusals",
    metadata,
    Column("id", Text, primary_key=True),
    Column("idempotency_key", Text, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("origin_butler", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("intent", Text, nullable=False),
    Column("target_identity", Text, nullable=False),
    Column("error_class", Text, nullable=False),
    Column("error_message", Text, nullable=False),
    Column("limit_type", Text),
    Column("retry_after_seconds", Float),
    Column("trace_id", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("handed_by", Text),
    Index("ix_delivery_refusals_request_id", "request_id"),
    Index("ix_delivery_refusals_created_at", "created_at"),
    schema=MESSENGER,
)

circuit_states = Table(
    "circuit_states",
    metadata,
    Column("channel", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("opened_at", BigInteger, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("reason", Text),
    Column("error_class", Text),
    Column("updated_at", BigInteger, nullable=False),
    schema=MESSENGER,
)
