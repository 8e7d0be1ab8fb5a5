"""What the ledger holds of a delivery, typed: its row, its attempts, its receipts and what came later."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields
from enum import Enum
from typing import Any, Final, TypeVar

from sqlalchemy import Column, ColumnElement, Connection, RowMapping, Select, Table, select

from postroom.delivery.afterwards.rules import KeptCorrection
from postroom.delivery.afterwards.store import corrections_around
from postroom.delivery.model import Snapshot, WaitReason
from postroom.delivery.store.rows import envelope_of, failure_of, waiting_of
from postroom.delivery.store.tables import (
    PRIORITIES,
    delivery_attempts,
    delivery_dead_letter,
    delivery_news,
    delivery_receipts,
    delivery_refusals,
    delivery_replies,
    delivery_requests,
    read_format,
)
from postroom.kernel.database.rows import read
from postroom.kernel.http.answers import JsonObject
from postroom.kernel.values.ids import DeliveryId, record, to_text
from postroom.message.attachment import Attachment, attachment_object, attachments_of_text
from postroom.message.delivery import (
    AttemptResult,
    DeliveryFailure,
    Format,
    Intent,
    OnUncertain,
    Priority,
    QuarantineReason,
    ReceiptKind,
    Status,
)
from postroom.message.inbound import NewsKind

_Record = TypeVar("_Record")
_requests, _refusals = delivery_requests.c, delivery_refusals.c

# -- The records, named as every answer names them ---


@record
class CallMade:
    """One call to a provider; `asked` is what it said before, when it was asked whether the message was there."""

    attempt_number: int
    started_at_us: int
    completed_at_us: int
    latency_ms: float
    outcome: AttemptResult
    error_class: str | None = None
    error_message: str | None = None
    provider_response: str | None = None
    asked: str | None = None


@record
class KeptReceipt:
    part: int
    provider_delivery_id: str
    receipt_type: ReceiptKind
    received_at_us: int
    conversation: str | None


@record
class KeptNews:
    """What the provider said after it had delivered."""

    kind: NewsKind
    event_id: str
    words: str
    at_us: int


@record
class KeptReply:
    """As it came, with its quotes and its signature."""

    event_id: str
    sender: str
    original: str
    at_us: int


@record
class KeptLetter:
    id: str
    quarantine_reason: QuarantineReason
    error_class: str | None = None
    error_summary: str | None = None
    total_attempts: int = 0
    replay_count: int = 0
    discarded_at_us: int | None = None
    discard_reason: str | None = None
    created_at_us: int = 0


@record
class KeptRefusal:
    """A request that was turned away; one without a limit was a call of the switchboard that led to nothing."""

    id: str
    idempotency_key: str
    request_id: str
    origin_butler: str
    channel: str
    intent: str
    target_identity: str
    error_class: str
    error_message: str
    limit_type: str | None
    retry_after_seconds: float | None
    trace_id: str | None
    created_at_us: int
    handed_by: str | None


@record
class DeliverySummary:
    """A delivery as lists show it: no content."""

    delivery_id: DeliveryId
    request_id: str
    origin_butler: str
    channel: str
    intent: Intent
    target_identity: str
    status: Status
    priority: Priority
    attempts: int
    possible_duplicate: bool
    waiting: WaitReason | None
    provider_delivery_id: str | None
    terminal_error_class: str | None
    terminal_error_message: str | None
    replay_of: DeliveryId | None
    replay_number: int | None
    created_at_us: int
    updated_at_us: int
    terminal_at_us: int | None

    @property
    def failure(self) -> DeliveryFailure | None:
        return failure_of(self.terminal_error_class, self.terminal_error_message)

    @property
    def ended_at_us(self) -> int:
        return self.updated_at_us if self.terminal_at_us is None else self.terminal_at_us


@record
class FoundDelivery(DeliverySummary):
    """As the console's list shows it; `mark` when it was corrected."""

    subject: str | None
    excerpt: str
    mark: str | None = None


@record
class DeliveryStanding(DeliverySummary):
    """How it stands, for its sender; the rest is looked up beside it."""

    idempotency_key: str
    on_uncertain: OnUncertain
    not_before_us: int

    @property
    def next_attempt_at_us(self) -> int | None:
        return self.not_before_us if self.status is Status.PENDING else None

    def snapshot(self) -> Snapshot:
        return Snapshot(
            id=self.delivery_id,
            idempotency_key=self.idempotency_key,
            request_id=self.request_id,
            origin_butler=self.origin_butler,
            channel=self.channel,
            intent=self.intent,
            status=self.status,
            attempts=self.attempts,
            possible_duplicate=self.possible_duplicate,
            not_before_us=self.not_before_us,
            waiting=self.waiting,
            provider_delivery_id=self.provider_delivery_id,
            failure=self.failure,
        )


@record
class DeliveryNow:
    delivery: DeliveryStanding
    latest: CallMade | None
    letter_id: str | None


@record
class WholeDelivery(DeliveryStanding):
    """With its content; what only the machinery needs is left out, and what stands under it as well."""

    address: str
    thread: str | None
    message_content: str
    subject: str | None
    emoji: str | None
    request_envelope: JsonObject
    calls: int
    parts_done: int
    trace_id: str | None
    doubtful_since_us: int | None
    format: Format
    attachments: tuple[Attachment, ...]
    revises: DeliveryId | None
    handed_by: str | None


@record
class TracedDelivery:
    """A delivery with all that the ledger holds of it; `corrects` names the delivery that it corrects itself."""

    delivery: WholeDelivery
    attempts: tuple[CallMade, ...] = ()
    receipts: tuple[KeptReceipt, ...] = ()
    news: tuple[KeptNews, ...] = ()
    replies: tuple[KeptReply, ...] = ()
    letter: KeptLetter | None = None
    corrections: tuple[KeptCorrection, ...] = ()
    corrects: KeptCorrection | None = None


# -- Read ---


_WAITING: Final = ("waiting_reason", "waiting_detail", "waiting_asked_seconds")


def _columns(kind: type[DeliverySummary]) -> list[ColumnElement[Any]]:
    """Each field is the column of its name."""
    names = [one.name.removesuffix("_us") for one in fields(kind) if one.name not in ("delivery_id", "waiting")]
    kept = [_requests.id.label("delivery_id"), *(_requests[name] for name in _WAITING)]
    return kept + [_requests[name] for name in names]


SUMMARY: Final = _columns(DeliverySummary)
_STANDING: Final = _columns(DeliveryStanding)
_WHOLE: Final = _columns(WholeDelivery)


def summary_of(row: RowMapping) -> DeliverySummary:
    return read(DeliverySummary, row, **_converted(row))


def found_of(row: RowMapping, mark: str | None) -> FoundDelivery:
    return read(FoundDelivery, row, **_converted(row), mark=mark)


def _converted(row: RowMapping) -> dict[str, object]:
    waiting = waiting_of(*(row[name] for name in _WAITING))
    return {"priority": PRIORITIES[row["priority"]], "waiting": waiting}


def delivery_now(connection: Connection, delivery_id: str) -> DeliveryNow | None:
    row = connection.execute(select(*_STANDING).where(_requests.id == delivery_id)).mappings().first()
    if row is None:
        return None
    latest = _of(delivery_attempts, delivery_id).order_by(delivery_attempts.c.attempt_number.desc()).limit(1)
    last = connection.execute(latest).first()
    letters = delivery_dead_letter.c
    letter = select(letters.id).where(letters.delivery_request_id == delivery_id)
    return DeliveryNow(
        delivery=read(DeliveryStanding, row, **_converted(row)),
        latest=read(CallMade, last) if last is not None else None,
        letter_id=connection.execute(letter).scalar(),
    )


def calls_made(connection: Connection, delivery_id: str) -> tuple[CallMade, ...] | None:
    """In order; None when there is no such delivery."""
    rows = connection.execute(_of(delivery_attempts, delivery_id).order_by(delivery_attempts.c.attempt_number)).all()
    if not rows and connection.execute(select(_requests.id).where(_requests.id == delivery_id)).first() is None:
        return None
    return tuple(read(CallMade, row) for row in rows)


def kept_news(connection: Connection, delivery_id: str) -> tuple[KeptNews, ...]:
    table = delivery_news.c
    found = connection.execute(_of(delivery_news, delivery_id).order_by(table.at, table.event_id))
    return tuple(read(KeptNews, row) for row in found)


def _of(table: Table, delivery_id: str) -> Select[Any]:
    return select(table).where(table.c.delivery_request_id == delivery_id)


def deliveries_of(connection: Connection, request_id: str) -> list[TracedDelivery]:
    """Oldest first. Replays belong to the request of the delivery they repeat."""
    found = select(*_WHOLE).where(_requests.request_id == request_id).order_by(_requests.created_at, _requests.id)
    rows = connection.execute(found).mappings().all()
    attempts = _kept(connection, CallMade, delivery_attempts.c.attempt_number, request_id)
    receipts = _kept(connection, KeptReceipt, delivery_receipts.c.part, request_id)
    news = _kept(connection, KeptNews, delivery_news.c.at, request_id)
    replies = _kept(connection, KeptReply, delivery_replies.c.at, request_id)
    letters = _kept(connection, KeptLetter, delivery_dead_letter.c.created_at, request_id)
    deliveries = []
    for row in rows:
        one = row["delivery_id"]
        corrections, corrects = corrections_around(connection, one, row["idempotency_key"])
        deliveries.append(
            TracedDelivery(
                delivery=_whole(row),
                attempts=tuple(attempts[one]),
                receipts=tuple(receipts[one]),
                news=tuple(news[one]),
                replies=tuple(replies[one]),
                letter=next(iter(letters[one]), None),
                corrections=corrections,
                corrects=corrects,
            )
        )
    return deliveries


def refusals_of(connection: Connection, request_id: str) -> list[KeptRefusal]:
    found = select(delivery_refusals).where(_refusals.request_id == request_id)
    rows = connection.execute(found.order_by(_refusals.created_at, _refusals.id))
    return [read(KeptRefusal, row) for row in rows]


def _whole(row: RowMapping) -> WholeDelivery:
    return read(
        WholeDelivery,
        row,
        **_converted(row),
        request_envelope=envelope_of(row["request_envelope"], row["message_content"]),
        format=read_format(row["format"]),
        attachments=attachments_of_text(row["attachments"]),
    )


def _kept(connection: Connection, kind: type[_Record], order: Column[Any], request_id: str) -> dict[str, list[_Record]]:
    """What one table holds about each delivery of the request."""
    table = order.table
    found = select(table).join(delivery_requests, table.c.delivery_request_id == _requests.id)
    kept: dict[str, list[_Record]] = defaultdict(list)
    for row in connection.execute(found.where(_requests.request_id == request_id).order_by(order)).mappings():
        kept[row["delivery_request_id"]].append(read(kind, row))
    return kept


# -- As tools, routes and commands answer: moments and words as text ---


def document(one: object) -> dict[str, object]:
    """The plain fields of a record, each under its own name."""
    shown: dict[str, object] = {}
    for field in fields(one):  # type: ignore[arg-type]  # every record is a dataclass
        value = getattr(one, field.name)
        if field.name.endswith("_us"):
            shown[field.name.removesuffix("_us")] = None if value is None else to_text(value)
        else:
            shown[field.name] = str(value) if isinstance(value, Enum) else value
    return shown


def delivery_document(one: DeliverySummary) -> dict[str, object]:
    shown = document(one)
    del shown["waiting"]
    return shown | {"waiting_reason": one.waiting.words(one.channel) if one.waiting else None}


def refusal_document(one: KeptRefusal) -> dict[str, object]:
    shown = document(one)
    del shown["handed_by"]
    return shown


def traced_document(one: TracedDelivery) -> dict[str, object]:
    shown = delivery_document(one.delivery)
    del shown["handed_by"]
    if one.delivery.revises is None:
        del shown["revises"]
    shown |= {
        "id": one.delivery.delivery_id,
        "attachments": [attachment_object(each) for each in one.delivery.attachments],
        "attempts": [document(each) for each in one.attempts],
        "receipts": [document(each) for each in one.receipts],
        "news": [document(each) for each in one.news],
        "dead_letter": document(one.letter) if one.letter else None,
        "replies": [document(each) for each in one.replies],
    }
    if one.corrections:
        shown["corrections"] = [correction_document(each) for each in one.corrections]
    if one.corrects is not None:
        shown["corrects"] = correction_document(one.corrects) | {"delivery_id": one.corrects.delivery_id}
    return shown


def correction_document(kept: KeptCorrection) -> dict[str, object]:
    """Who, when, which version; no words of the message."""
    return {
        "act": str(kept.act),
        "how": str(kept.how),
        "version": kept.version,
        "actor": kept.actor,
        "reason": kept.reason,
        "at": to_text(kept.at_us),
        "delivery_id": kept.carried_by,
        "status": str(kept.status) if kept.status else None,
    }
