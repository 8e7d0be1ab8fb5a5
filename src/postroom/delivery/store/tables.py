"""The tables of delivery: requests, attempts, receipts, news, dead letters, corrections, refusals, circuits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import TypeEngine

from postroom.delivery.afterwards.rules import CorrectionAct, How
from postroom.delivery.model import FIRST_FENCE, PRIORITY_RANK, Lease, NewDelivery, Settlement
from postroom.kernel.database.schema import MESSENGER, metadata, one_of, partial_index
from postroom.message.attachment import attachments_of_text, attachments_text
from postroom.message.delivery import (
    TERMINAL,
    AttemptResult,
    DeliveryFailure,
    Format,
    Intent,
    OnUncertain,
    QuarantineReason,
    ReceiptKind,
    Status,
)
from postroom.message.markup import markup_of_text, markup_text, revision_of_text, revision_text

PRIORITIES: Final = {rank: priority for priority, rank in PRIORITY_RANK.items()}


@dataclass(frozen=True, slots=True)
class DeliveryColumn:
    """
    A row is inserted, claimed, looked at and settled; each of these says what it does with the column.

    `new` is the field of NewDelivery that an insert writes, `leased` computes it where a lease has a say, and
    `initially` is the same SQL for every row. `claim` and `snapshot` are the fields of Claim and Snapshot that are
    read from it, through `read`. `kept` is the field of Settlement that a settlement writes and `settled` computes it;
    one that `keeps` leaves what was there if there is nothing new. `let_go` is the same SQL for every settlement.
    """

    name: str
    type: type[TypeEngine[Any]] = Text
    _: KW_ONLY
    required: bool = True
    primary: bool = False
    new: str | None = None
    leased: Callable[[NewDelivery, Lease | None], Any] | None = None
    initially: str | None = None
    claim: str | None = None
    snapshot: str | None = None
    read: Callable[[Any], Any] | None = None
    kept: str | None = None
    settled: Callable[[Settlement], Any] | None = None
    keeps: bool = False
    let_go: str | None = None

    def in_table(self) -> Column[Any]:
        return Column(self.name, self.type, primary_key=self.primary, nullable=not self.required)


def stored_format(format: Format) -> str | None:
    """Nothing for plain text, which is nearly all."""
    return None if format is Format.PLAIN else str(format)


def read_format(stored: str | None) -> Format:
    return Format.PLAIN if stored is None else Format(stored)


def _status(new: NewDelivery, lease: Lease | None) -> str:
    return str(Status.IN_PROGRESS if lease else new.status)


def _final_failure(done: Settlement) -> DeliveryFailure | None:
    return done.failure if done.status in TERMINAL else None


def _error_class(done: Settlement) -> str | None:
    failure = _final_failure(done)
    return str(failure.error_class) if failure else None


def _error_message(done: Settlement) -> str | None:
    failure = _final_failure(done)
    return failure.message if failure else None


# Every column of a delivery, once: its type, what is written into it, and what is read out of it.
DELIVERY_COLUMNS: Final = (
    DeliveryColumn("id", primary=True, new="id", claim="id", snapshot="id"),
    DeliveryColumn("idempotency_key", new="idempotency_key", snapshot="idempotency_key"),
    DeliveryColumn("fingerprint", new="fingerprint", snapshot="fingerprint"),
    DeliveryColumn("request_id", new="request_id", claim="request_id", snapshot="request_id"),
    DeliveryColumn("origin_butler", new="origin_butler", claim="origin_butler", snapshot="origin_butler"),
    DeliveryColumn("channel", new="channel", claim="channel", snapshot="channel"),
    DeliveryColumn("intent", leased=lambda new, _: str(new.intent), claim="intent", snapshot="intent", read=Intent),
    DeliveryColumn("target_identity", new="target_identity"),
    DeliveryColumn("address", new="address", claim="address"),
    DeliveryColumn("thread", required=False, new="thread", claim="thread"),
    DeliveryColumn("order_key", new="order_key"),
    DeliveryColumn("message_content", new="message", claim="message"),
    DeliveryColumn("subject", required=False, new="subject", claim="subject"),
    DeliveryColumn("emoji", required=False, new="emoji", claim="emoji"),
    DeliveryColumn("request_envelope", new="envelope"),
    DeliveryColumn(
        "priority",
        SmallInteger,
        leased=lambda new, _: PRIORITY_RANK[new.priority],
        claim="priority",
        read=PRIORITIES.__getitem__,
    ),
    DeliveryColumn("on_uncertain", leased=lambda new, _: str(new.on_uncertain), claim="on_uncertain", read=OnUncertain),
    DeliveryColumn("status", leased=_status, snapshot="status", read=Status, settled=lambda done: str(done.status)),
    DeliveryColumn("attempts", Integer, initially="0", claim="attempts", snapshot="attempts", kept="attempts"),
    DeliveryColumn(
        "calls",
        Integer,
        initially="0",
        claim="calls",
        settled=lambda done: done.claim.calls + (1 if done.attempt else 0),
    ),
    DeliveryColumn("parts_done", Integer, initially="0", claim="parts_done"),
    DeliveryColumn("turn", Integer, initially="0"),
    DeliveryColumn("fence", Integer, initially=str(FIRST_FENCE), claim="fence"),
    DeliveryColumn(
        "sending",
        Boolean,
        leased=lambda _, lease: lease is not None and lease.sending,
        claim="sending",
        read=bool,
        let_go="false",
    ),
    DeliveryColumn(
        "possible_duplicate",
        Boolean,
        initially="false",
        claim="possible_duplicate",
        snapshot="possible_duplicate",
        read=bool,
        kept="possible_duplicate",
    ),
    DeliveryColumn("not_before", BigInteger, new="created_at_us", snapshot="not_before_us", kept="not_before_us"),
    DeliveryColumn(
        "lease_until",
        BigInteger,
        required=False,
        leased=lambda _, lease: lease.until_us if lease else None,
        let_go="NULL",
    ),
    DeliveryColumn(
        "waiting_reason",
        required=False,
        snapshot="waiting_kind",
        settled=lambda done: str(done.waiting.kind) if done.waiting else None,
    ),
    DeliveryColumn(
        "waiting_detail",
        required=False,
        snapshot="waiting_detail",
        settled=lambda done: done.waiting.detail if done.waiting else None,
    ),
    DeliveryColumn(
        "waiting_asked_seconds",
        Float,
        required=False,
        snapshot="waiting_asked_seconds",
        settled=lambda done: done.waiting.asked_seconds if done.waiting else None,
    ),
    DeliveryColumn("terminal_error_class", required=False, snapshot="error_class", settled=_error_class),
    DeliveryColumn("terminal_error_message", required=False, snapshot="error_message", settled=_error_message),
    DeliveryColumn(
        "provider_delivery_id",
        required=False,
        snapshot="provider_delivery_id",
        settled=lambda done: done.receipt.provider_id if done.receipt else None,
        keeps=True,
    ),
    DeliveryColumn("trace_id", required=False, new="trace_id", claim="trace_id"),
    DeliveryColumn("replay_of", required=False, new="replay_of", claim="replay_of"),
    DeliveryColumn("replay_number", Integer, required=False, new="replay_number"),
    DeliveryColumn("created_at", BigInteger, new="created_at_us", claim="created_at_us"),
    DeliveryColumn("updated_at", BigInteger, new="created_at_us", kept="at_us"),
    DeliveryColumn(
        "terminal_at", BigInteger, required=False, settled=lambda done: done.at_us if done.status in TERMINAL else None
    ),
    DeliveryColumn(
        "markup", required=False, leased=lambda new, _: markup_text(new.markup), claim="markup", read=markup_of_text
    ),
    DeliveryColumn("revises", required=False, leased=lambda new, _: new.revises.delivery_id if new.revises else None),
    DeliveryColumn(
        "revision",
        required=False,
        leased=lambda new, _: revision_text(new.revises),
        claim="revises",
        read=revision_of_text,
    ),
    DeliveryColumn("doubtful_since", BigInteger, required=False, claim="doubtful_since_us", kept="doubtful_since_us"),
    DeliveryColumn(
        "format", required=False, leased=lambda new, _: stored_format(new.format), claim="format", read=read_format
    ),
    DeliveryColumn(
        "attachments",
        required=False,
        leased=lambda new, _: attachments_text(new.attachments),
        claim="attachments",
        read=attachments_of_text,
    ),
    DeliveryColumn("handed_by", required=False, new="handed_by"),
)
_OPEN = text("status IN ('pending', 'in_progress')")
_PENDING = text("status = 'pending'")
_IN_PROGRESS = text("status = 'in_progress'")
_UNDECIDED = text("discarded_at IS NULL")
_UNTOUCHED = text("discarded_at IS NULL AND replay_count = 0")
_REPLAYED = text("replay_of IS NOT NULL")
_REVISES = text("revises IS NOT NULL")
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
    partial_index("ix_delivery_requests_revises", "revises", "id", where=_REVISES),
    partial_index("ix_delivery_requests_due", "channel", "origin_butler", "priority", "not_before", where=_PENDING),
    partial_index("ix_delivery_requests_wake", "not_before", where=_PENDING),
    partial_index("ix_delivery_requests_order", "order_key", "origin_butler", "id", where=_OPEN),
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
    Column("about", Text),
    CheckConstraint(one_of("receipt_type", ReceiptKind), name="receipt_type"),
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
delivery_corrections = Table(
    "delivery_corrections",
    metadata,
    Column("id", Text, primary_key=True),
    Column("delivery_id", Text, ForeignKey(delivery_requests.c.id, ondelete="CASCADE"), nullable=False),
    Column("act", Text, nullable=False),
    Column("how", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("actor", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("key", Text),
    Column("reason", Text),
    Column("carried_key", Text),
    Column("at", BigInteger, nullable=False),
    UniqueConstraint("key"),
    UniqueConstraint("carried_key"),
    CheckConstraint(one_of("act", CorrectionAct), name="act"),
    CheckConstraint(one_of("how", How), name="how"),
    Index("ix_delivery_corrections_delivery_id", "delivery_id"),
    schema=MESSENGER,
)
