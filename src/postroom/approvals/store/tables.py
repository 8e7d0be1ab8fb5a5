"""Approvals: pending actions, standing rules, the audit trail, and the threads people wrote from."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, ForeignKey, Index, Integer, Table, Text, text

from postroom.approvals.model import ActionStatus
from postroom.delivery.store.tables import delivery_requests
from postroom.kernel.database.schema import MESSENGER, metadata, one_of, partial_index
from postroom.message.wishes import Risk

_PENDING = text("status = 'pending'")

pending_actions = Table(
    "pending_actions",
    metadata,
    Column("id", Text, ForeignKey(delivery_requests.c.id, ondelete="CASCADE"), primary_key=True),
    Column("origin_butler", Text, nullable=False),
    Column("content_hash", Text, nullable=False),
    Column("risk", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("requested_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("asked_at", BigInteger),
    Column("decided_by", Text),
    Column("decided_at", BigInteger),
    Column("decision_reason", Text),
    Column("approval_rule_id", Text),
    Column("edited", Boolean, nullable=False),
    CheckConstraint(one_of("status", ActionStatus), name="status"),
    CheckConstraint(one_of("risk", Risk), name="risk"),
    Index("ix_pending_actions_status_id", "status", "id"),
    partial_index("ix_pending_actions_due", "expires_at", where=_PENDING),
    partial_index("ix_pending_actions_origin", "origin_butler", where=_PENDING),
    schema=MESSENGER,
)

approval_rules = Table(
    "approval_rules",
    metadata,
    Column("id", Text, primary_key=True),
    Column("constraints", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("created_from", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("max_uses", Integer),
    Column("use_count", Integer, nullable=False),
    Column("revoked_by", Text),
    Column("revoked_at", BigInteger),
    CheckConstraint("max_uses IS NULL OR use_count <= max_uses", name="uses"),
    schema=MESSENGER,
)

approval_events = Table(
    "approval_events",
    metadata,
    Column("id", Text, primary_key=True),
    Column("action_id", Text),
    Column("rule_id", Text),
    Column("event_type", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("reason", Text),
    Column("event_metadata", Text, nullable=False),
    Column("occurred_at", BigInteger, nullable=False),
    CheckConstraint("action_id IS NOT NULL OR rule_id IS NOT NULL", name="subject"),
    Index("ix_approval_events_action_id", "action_id"),
    Index("ix_approval_events_rule_id", "rule_id"),
    schema=MESSENGER,
)

heard_threads = Table(
    "heard_threads",
    metadata,
    Column("channel", Text, primary_key=True),
    Column("address", Text, primary_key=True),
    Column("thread", Text, primary_key=True),
    Column("heard_at", BigInteger, nullable=False),
    schema=MESSENGER,
)
