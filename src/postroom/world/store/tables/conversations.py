"""What people wrote to us: one row for each message of a provider, and what was decided about it."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, Index, Table, Text, UniqueConstraint, text

from postroom.domain.conversation_states import InboundStatus
from postroom.world.store.tables.metadata import SHARED, metadata, one_of
from postroom.world.store.tables.partial_index import partial_index

OPEN = text("status IN ('received', 'routed', 'waiting', 'running')")

# `text` is kept of what a butler was given, for as long as words are kept; of everything else until it is decided.
inbound_messages = Table(
    "inbound_messages",
    metadata,
    Column("id", Text, primary_key=True),
    Column("channel", Text, nullable=False),
    Column("event_id", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("message_id", Text, nullable=False),
    Column("place", Text, nullable=False),
    Column("places", Text, nullable=False),
    Column("thread", Text, nullable=False),
    Column("sender", Text),
    Column("assurance", Text, nullable=False),
    Column("flags", Text, nullable=False),
    Column("alone", Boolean, nullable=False),
    Column("addressed", Boolean, nullable=False),
    Column("replies_to", Text),
    Column("answers", Text),
    Column("text", Text),
    Column("said_at", BigInteger),
    Column("received_at", BigInteger, nullable=False),
    Column("status", Text, nullable=False),
    Column("person", Text),
    Column("kind", Text),
    Column("target", Text),
    Column("reason", Text, nullable=False),
    Column("session_id", Text),
    Column("tokens", BigInteger, nullable=False, server_default="0"),
    Column("changed_at", BigInteger, nullable=False),
    Column("subject", Text),
    Column("attachments", Text),
    UniqueConstraint("channel", "event_id"),
    CheckConstraint(one_of("status", InboundStatus), name="status"),
    Index("ix_inbound_messages_conversation", "person", "channel", "place", "id"),
    Index("ix_inbound_messages_target", "person", "channel", "place", "target", "id"),
    Index("ix_inbound_messages_received_at", "received_at"),
    partial_index("ix_inbound_messages_open", "id", where=OPEN),
    schema=SHARED,
)

ERASED: Final[dict[str, None]] = {"text": None, "subject": None, "attachments": None}
"""What people wrote and sent; when they did, and what became of it, stays."""
