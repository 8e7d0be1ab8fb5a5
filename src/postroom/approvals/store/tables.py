"""Approvals: pending actions, standing rules, the audit trail, and the threads people wrote from."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    exists,
)

from postroom.approvals.model import ApprovalEventType
from postroom.delivery.store.tables import delivery_requests
from postroom.kernel.database.schema import MESSENGER, metadata, one_of
from postroom.message.wishes import Risk

# Whether it waits, until when, and who is asked is its question's; who decided, when and why, its line in the trail.
pending_actions = Table(
    "pending_actions",
    metadata,
    Column("id", Text, ForeignKey(delivery_requests.c.id, ondelete="CASCADE"), primary_key=True),
    Column("question_id", Text),
    Column("origin_butler", Text, nullable=False),
    Column("content_hash", Text, nullable=False),
    Column("risk", Text, nullable=False),
    Column("requested_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),  # until its question says otherwise
    Column("edited", Boolean, nullable=False),
    CheckConstraint(one_of("risk", Risk), name="risk"),
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

NOT_LET_GO = (
    str(ApprovalEventType.ACTION_REJECTED),
    str(ApprovalEventType.ACTION_EXPIRED),
    str(ApprovalEventType.ACTION_WITHDRAWN),
)


def was_refused() -> ColumnElement[bool]:
    """Of a row of deliveries: a person did not let it go, or none decided in time."""
    trail = approval_events.c
    return exists().where(trail.action_id == delivery_requests.c.id, trail.event_type.in_(NOT_LET_GO))
