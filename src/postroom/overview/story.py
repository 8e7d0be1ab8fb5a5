"""What happened to a message, and why, found by an id or the beginning of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Column, Connection, func, select, text

from postroom.approvals.model import ApprovalEventType
from postroom.approvals.store.steps import action_by_id
from postroom.approvals.store.tables import approval_events
from postroom.attention.model import NoticeState
from postroom.attention.state import NoticeRow, NoticeSend
from postroom.attention.store import notice_sends, notices, notices_of
from postroom.delivery.reading.record import (
    KeptRefusal,
    TracedDelivery,
    WholeDelivery,
    deliveries_of,
    document,
    refusal_document,
    refusals_of,
    traced_document,
)
from postroom.delivery.rules.breaker import Circuit
from postroom.delivery.store.limits import circuit_of
from postroom.delivery.store.tables import circuit_states, delivery_refusals, delivery_requests
from postroom.inbox.store.notes import notification_of, wishes_of
from postroom.inbox.store.waiting import notifications
from postroom.kernel.database.rows import of_json, read
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import record
from postroom.message.outgoing import AnswerStatus, answer_to
from postroom.overview.why import ApprovalStanding, Around
from postroom.overview.why_held import KeptNote
from postroom.people.store.rows import closed_at

_OPEN = text("status IN ('pending', 'in_progress')")  # spelled as in the partial index, or it would not be used
_requests, _refusals = delivery_requests.c, delivery_refusals.c
_notices, _notes = notices.c, notifications.c
_Place = tuple["Column[Any]", "Column[Any]", "Column[Any] | None"]  # an id, the request behind it, and its sender
Row = Mapping[Any, Any]
_SENDS: Final = select(notice_sends.c.delivery_id, notice_sends.c.send).order_by(notice_sends.c.at)
_PLACES: tuple[_Place, ...] = (
    (_requests.id, _requests.request_id, _requests.origin_butler),
    (_requests.request_id, _requests.request_id, _requests.origin_butler),
    (_refusals.request_id, _refusals.request_id, _refusals.origin_butler),
    (_notices.request_id, _notices.request_id, _notices.agent),
    (_notes.id, _notes.id, None),
)


# -- What stands around one delivery: its approval, its channel's circuit, and what must go first --


def surroundings(connection: Connection, delivery_id: str, channel: str) -> Around:
    return Around(
        approval=approval_of(connection, delivery_id),
        circuit=_circuit(connection, channel),
        ahead=_ahead(connection, delivery_id),
        closed=_closed(connection, delivery_id),
    )


def approval_of(connection: Connection, delivery_id: str) -> ApprovalStanding | None:
    action = action_by_id(connection, delivery_id)
    if action is None:
        return None
    return ApprovalStanding(
        status=action.status,
        expires_at_us=action.expires_at_us,
        decided_by=action.decided_by,
        decided_at_us=action.decided_at_us,
        reason=action.reason,
    )


def _circuit(connection: Connection, channel: str) -> Circuit | None:
    row = connection.execute(select(circuit_states).where(circuit_states.c.channel == channel)).mappings().first()
    return circuit_of(row) if row is not None else None


def _closed(connection: Connection, delivery_id: str) -> str | None:
    """Why nothing more is sent to the address this one went to."""
    sent = connection.execute(select(_requests.channel, _requests.address).where(_requests.id == delivery_id)).first()
    found = closed_at(connection, sent.channel, sent.address) if sent else None
    return found.sentence if found and found.is_closed else None


def _ahead(connection: Connection, delivery_id: str) -> int:
    """Messages to one address leave one by one, and those of one sender in the order of their ids."""
    mine = select(_requests.order_key, _requests.origin_butler).where(_requests.id == delivery_id).subquery()
    here, sender = (select(one).scalar_subquery() for one in mine.c)
    same = (_requests.order_key == here, _requests.origin_butler == sender)
    asked = select(func.count()).where(*same, _requests.id < delivery_id, _OPEN)
    return int(connection.execute(asked).scalar_one())


def note(connection: Connection, notification_id: str) -> KeptNote | None:
    row = connection.execute(select(notifications).where(notifications.c.id == notification_id)).mappings().first()
    if row is None:
        return None
    return KeptNote(note=notification_of(row), wishes=wishes_of(connection, row["user_id"]))


def recent_ids(connection: Connection, limit: int) -> list[str]:
    """Of deliveries and of the requests behind them, newest first."""
    asked = select(_requests.id, _requests.request_id).order_by(_requests.id.desc()).limit(limit)
    return [name for row in connection.execute(asked) for name in row]


# -- Ids that begin alike, and the request that each of them belongs to --


def ids_with_prefix(connection: Connection, prefix: str, *, origin: str | None, most: int) -> dict[str, str]:
    """Some of them, newest first, each with its request; with an `origin`, only what that sender has sent."""
    found = dict(pair for place in _PLACES for pair in _pairs(connection, place, prefix, origin, most))
    return dict(sorted(found.items(), reverse=True)[:most])


def _pairs(
    connection: Connection, place: _Place, prefix: str, origin: str | None, most: int
) -> Iterator[tuple[str, str]]:
    """By likeness and not by range: what comes after what depends on the server's language."""
    identifier, request, sender = place
    asked = select(identifier, request).where(identifier.startswith(prefix, autoescape=True)).distinct()
    if origin is not None:
        if sender is None:
            return
        asked = asked.where(sender == origin)
    for row in connection.execute(asked.order_by(identifier.desc()).limit(most)):
        yield row[0], row[1]


# -- Who called which part of the household for a request, and when, as its deliveries, notices and refusals tell --


@record
class Hop:
    """A part that handed it in, and what it was answered."""

    request_id: str
    source_butler: str
    part: str
    channel: str | None
    intent: str | None
    status: AnswerStatus
    created_at_us: int
    delivery_id: str | None = None
    error_class: str | None = None
    error_message: str | None = None


def _hops(
    connection: Connection, request_id: str, deliveries: Sequence[TracedDelivery], refusals: Iterable[KeptRefusal]
) -> list[Hop]:
    """Oldest first. What became a notice was handed in then, however often and whenever it left."""
    waited = {one.id: one for one in notices_of(connection, request_id) if one.message.handed_by}
    left, carried = dict[str, WholeDelivery](), set[str]()
    by_id = {one.delivery.delivery_id: one.delivery for one in deliveries if one.delivery.handed_by}
    for delivery_id, send in connection.execute(_SENDS.where(notice_sends.c.delivery_id.in_(by_id))):
        for notice in waited.keys() & set(of_json(NoticeSend, send).notices):
            carried.add(delivery_id)
            left.setdefault(notice, by_id[delivery_id])
    found = [_waited(one, left.get(name)) for name, one in waited.items()]
    found += [_sent(one) for name, one in by_id.items() if name not in carried]
    found += [_refused(one, one.handed_by) for one in refusals if one.handed_by]
    return sorted(found, key=lambda one: one.created_at_us)


def _sent(one: WholeDelivery) -> Hop:
    return Hop(
        request_id=one.request_id,
        source_butler=one.origin_butler,
        part=one.handed_by or "",
        channel=one.channel,
        intent=str(one.intent),
        status=answer_to(one.status),
        created_at_us=one.created_at_us,
        delivery_id=one.delivery_id,
        error_class=one.terminal_error_class,
        error_message=one.terminal_error_message,
    )


def _waited(row: NoticeRow, delivery: WholeDelivery | None) -> Hop:
    notice, asked = row.standing.notice, row.message
    if delivery is not None:
        return replace(_sent(delivery), created_at_us=notice.created_us)
    return Hop(
        request_id=row.request_id,
        source_butler=notice.agent,
        part=asked.handed_by or "",
        channel=asked.channel,
        intent=str(asked.intent),
        status=AnswerStatus.MUTED if row.standing.state is NoticeState.MUTED else AnswerStatus.DEFERRED,
        created_at_us=notice.created_us,
    )


def _refused(one: KeptRefusal, part: str) -> Hop:
    return Hop(
        request_id=one.request_id,
        source_butler=one.origin_butler,
        part=part,
        channel=one.channel or None,
        intent=one.intent or None,
        status=AnswerStatus.ERROR,
        created_at_us=one.created_at_us,
        error_class=one.error_class,
        error_message=one.error_message,
    )


# -- Everything the ledger knows about one request, in the order it happened --


@record
class RequestTrace:
    """Oldest first."""

    request_id: str
    hops: Sequence[Hop] = ()
    deliveries: Sequence[TracedDelivery] = ()
    refusals: Sequence[KeptRefusal] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.hops or self.deliveries or self.refusals)

    def of(self, origin: str) -> RequestTrace:
        """A request's id is any text, so that two senders may have chosen the same."""
        return RequestTrace(
            request_id=self.request_id,
            hops=[one for one in self.hops if one.source_butler == origin],
            deliveries=[one for one in self.deliveries if one.delivery.origin_butler == origin],
            refusals=[one for one in self.refusals if one.origin_butler == origin],
        )

    def document(self) -> Document:
        """As people and programs are shown it."""
        return {
            "request_id": self.request_id,
            "hops": [document(one) for one in self.hops],
            "deliveries": [traced_document(one) for one in self.deliveries],
            "delivery_count": len(self.deliveries),
            "refusals": [refusal_document(one) for one in self.refusals],
        }


def trace(connection: Connection, request_id: str) -> RequestTrace:
    deliveries = deliveries_of(connection, request_id)
    refusals = refusals_of(connection, request_id)
    return RequestTrace(
        request_id=request_id,
        hops=_hops(connection, request_id, deliveries, refusals),
        deliveries=deliveries,
        refusals=[one for one in refusals if one.limit_type],
    )


# -- One delivery with everything that was written down about it --


@record
class DeliveryFile:
    """With what came before it and what stands around it."""

    traced: TracedDelivery
    siblings: Sequence[WholeDelivery] = ()
    hops: Sequence[Hop] = ()
    refusals: Sequence[KeptRefusal] = ()
    approval_events: Sequence[ApprovalLine] = ()
    around: Around


def delivery_file(connection: Connection, delivery_id: str) -> DeliveryFile | None:
    request = connection.execute(select(_requests.request_id).where(_requests.id == delivery_id)).scalar()
    if request is None:
        return None
    found = trace(connection, request)
    mine = next(one for one in found.deliveries if one.delivery.delivery_id == delivery_id)
    return DeliveryFile(
        traced=mine,
        siblings=[one.delivery for one in found.deliveries if one is not mine],
        hops=found.hops,
        refusals=found.refusals,
        approval_events=_approval_events(connection, delivery_id),
        around=surroundings(connection, delivery_id, mine.delivery.channel),
    )


@record
class ApprovalLine:
    """What was decided of it, by whom."""

    type: ApprovalEventType
    actor: str
    reason: str | None
    at_us: int


def _approval_events(connection: Connection, delivery_id: str) -> list[ApprovalLine]:
    events = approval_events.c
    found = select(events.event_type.label("type"), events.actor, events.reason, events.occurred_at.label("at"))
    rows = connection.execute(found.where(events.action_id == delivery_id).order_by(events.occurred_at, events.id))
    return [read(ApprovalLine, row) for row in rows]
