"""Notices and their sends, what people want of them, and the log it all follows from."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, Index, Integer, Table, Text, text

from postroom.domain.notice_states import NoticeState
from postroom.world.store.tables.metadata import SHARED, metadata, one_of
from postroom.world.store.tables.partial_index import partial_index

OPEN = text("open")
PENDING = text("pending")
CLOSED = text("NOT open")
HANDED_OVER = text("NOT pending")
ACCEPTED = "NoticeAccepted"
IS_ACCEPTED = text(f"kind = '{ACCEPTED}'")
_FACT = text("notice IS NULL")
_DUE = text("next_at IS NOT NULL")
_KEYED = text("key IS NOT NULL")

attention_people = Table(
    "attention_people",
    metadata,
    Column("person", Text, primary_key=True),
    Column("policy", Text),
    Column("rest", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("next_at", BigInteger),
    partial_index("ix_attention_people_next_at", "next_at", where=_DUE),
    schema=SHARED,
)

notices = Table(
    "notices",
    metadata,
    Column("id", Text, primary_key=True),
    Column("person", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("key", Text),
    Column("state", Text, nullable=False),
    Column("open", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("standing", Text, nullable=False),
    Column("outgoing", Text, nullable=False),
    CheckConstraint(one_of("state", NoticeState), name="state"),
    Index("ix_notices_person_created_at", "person", "created_at", "id"),
    Index("ix_notices_person_state", "person", "state", "agent"),
    Index("ix_notices_person_state_created_at", "person", "state", "created_at", "id"),
    Index("ix_notices_request_id", "request_id"),
    partial_index("ix_notices_closed", "created_at", where=CLOSED),
    partial_index("ix_notices_open", "person", where=OPEN),
    partial_index("ix_notices_key", "person", "agent", "key", where=_KEYED),
    schema=SHARED,
)

notice_sends = Table(
    "notice_sends",
    metadata,
    Column("key", Text, primary_key=True),
    Column("person", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("pending", Boolean, nullable=False),
    Column("delivery_id", Text),
    Column("request_id", Text, nullable=False),
    Column("send", Text, nullable=False),
    Column("outgoing", Text, nullable=False),
    Column("lease_until", BigInteger),
    Column("fence", Integer, nullable=False),
    Index("ix_notice_sends_person_at", "person", "at"),
    Index("ix_notice_sends_delivery_id", "delivery_id"),
    partial_index("ix_notice_sends_handed_over", "at", where=HANDED_OVER),
    partial_index("ix_notice_sends_pending", "person", where=PENDING),
    schema=SHARED,
)

digests = Table(
    "digests",
    metadata,
    Column("id", Text, primary_key=True),
    Column("person", Text, nullable=False),
    Column("digest", Text, nullable=False),
    schema=SHARED,
)

attention_log = Table(
    "attention_log",
    metadata,
    Column("person", Text, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("notice", Text),
    Column("body", Text, nullable=False),
    Index("ix_attention_log_notice", "notice", "seq"),
    Index("ix_attention_log_person_at", "person", "at"),
    partial_index("ix_attention_log_accepted", "person", where=IS_ACCEPTED),
    partial_index("ix_attention_log_facts", "notice", "at", where=_FACT),
    schema=SHARED,
)
