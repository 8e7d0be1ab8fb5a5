"""The tables of the inbox, its one writer at a time, and the second look at e-mail copies that wait."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    Index,
    Table,
    Text,
    text,
)

from postroom.inbox.model import MAX_NOTIFICATION_CHARACTERS, DeliveryChannel, NotificationType
from postroom.kernel.database.schema import SHARED, metadata, one_of, partial_index
from postroom.message.delivery import Priority

_UNREAD = text("read_at IS NULL AND dismissed_at IS NULL")
_KEYED = text("supersedes IS NOT NULL")
_ARCHIVED = text("archived_at IS NOT NULL")
_DISMISSED = text("dismissed_at IS NOT NULL")
_SNOOZED = text("snoozed_until IS NOT NULL")
_OPEN = text("delivered_at IS NULL AND failed_at IS NULL AND cancelled_at IS NULL")
_BATCHED = text("batch_id IS NOT NULL")
notifications = Table(
    "notifications",
    metadata,
    Column("id", Text, primary_key=True),
    Column("user_id", Text, nullable=False),
    Column("conversation_id", Text),
    Column("correlation_id", Text),
    Column("message", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("priority", Text, nullable=False),
    Column("link", Text),
    Column("has_bell", Boolean, nullable=False),
    Column("seen_at", BigInteger),
    Column("read_at", BigInteger),
    Column("archived_at", BigInteger),
    Column("dismissed_at", BigInteger),
    Column("snoozed_until", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("agent", Text, nullable=False, server_default=text("'inbox'")),
    Column("urgency", Text),
    Column("category", Text),
    Column("thread", Text),
    Column("supersedes", Text),
    Column("needs_ack", Boolean, nullable=False, server_default=text("false")),
    Column("expires_in_seconds", BigInteger),
    CheckConstraint(f"length(message) BETWEEN 1 AND {MAX_NOTIFICATION_CHARACTERS}", name="message"),
    CheckConstraint(one_of("type", NotificationType), name="type"),
    CheckConstraint(one_of("priority", Priority), name="priority"),
    Index("ix_notifications_user_id_created_at_id", "user_id", "created_at", "id"),
    Index("ix_notifications_user_id_updated_at", "user_id", "updated_at"),
    Index("ix_notifications_updated_at", "updated_at"),
    partial_index("ix_notifications_snoozed", "user_id", "snoozed_until", where=_SNOOZED),
    partial_index("ix_notifications_supersedes", "user_id", "supersedes", where=_KEYED),
    partial_index("ix_notifications_unread", "user_id", where=_UNREAD),
    partial_index("ix_notifications_archived", "user_id", "created_at", "id", where=_ARCHIVED),
    partial_index("ix_notifications_dismissed", "user_id", "created_at", "id", where=_DISMISSED),
    schema=SHARED,
)
# Quiet hours are in the person's attention policy (`attention_people`); the two columns of times are empty since 0026,
# and the zone and the flag are what counts while that policy says nothing.
notification_preferences = Table(
    "notification_preferences",
    metadata,
    Column("user_id", Text, primary_key=True),
    Column("delivery_channel", Text, nullable=False),
    Column("email", Text),
    Column("quiet_hours_start", Text),
    Column("quiet_hours_end", Text),
    Column("quiet_hours_timezone", Text, nullable=False),
    Column("high_priority_passes", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("email_pending", Text),
    CheckConstraint(one_of("delivery_channel", DeliveryChannel), name="delivery_channel"),
    CheckConstraint("(quiet_hours_start IS NULL) = (quiet_hours_end IS NULL)", name="quiet_hours"),
    schema=SHARED,
)


# One writer at a time for each person's inbox.

_SEED: Final = 0x696E626F78  # keeps these locks apart from any others
_WAIT: Final = text("SELECT pg_advisory_xact_lock(hashtextextended(:user_id, :seed))")
_TRY: Final = text("SELECT pg_try_advisory_xact_lock(hashtextextended(:user_id, :seed))")


def lock_inbox(connection: Connection, user_id: str) -> None:
    """Until the transaction ends. SQLite lets one transaction write at a time, so there is nothing to do."""
    if connection.dialect.name == "postgresql":
        connection.execute(_WAIT, {"user_id": user_id, "seed": _SEED})


def try_lock_inbox(connection: Connection, user_id: str) -> bool:
    if connection.dialect.name != "postgresql":
        return True
    return bool(connection.execute(_TRY, {"user_id": user_id, "seed": _SEED}).scalar())
