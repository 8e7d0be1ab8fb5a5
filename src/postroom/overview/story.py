"""What happened to a message, and why, found by an id or the beginning of one."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Connection, RowMapping, Select, bindparam, func, or_, select, text

from postroom.approvals.store.tables import approval_events, pending_actions
from postroom.attention.model import NoticeState
from postroom.attention.store import notice_sends, notices
from postroom.delivery.afterwards.store import corrections_around
from postroom.delivery.reading.file import DeliveryQuery, readable
from postroom.delivery.reading.search import SUMMARY
from postroom.delivery.store.tables import (
    IS_RARE,
    RARE,
    circuit_states,
    delivery_attempts,
    delivery_dead_letter,
    delivery_news,
    delivery_receipts,
    delivery_refusals,
    delivery_replies,
    delivery_requests,
)
from postroom.inbox.model import Notification, Preferences
from postroom.inbox.store.notes import notification_of, wishes_of
from postroom.inbox.store.waiting import deferred_emails, notifications
from postroom.kernel.database.engine import Database
from postroom.kernel.values.errors import SettingsError
from postroom.kernel.values.fields import nearest
from postroom.kernel.values.ids import to_text
from postroom.message.delivery import Intent, Priority, Status
from postroom.message.outgoing import AnswerStatus, answer_to
from postroom.overview.why import Around, why, why_refused
from postroom.people.store.rows import closed_at

_REMEMBERED: Final = 500
_SHORTEST_PREFIX: Final = 4
_MOST_CANDIDATES: Final = 8
_OPEN = text("status IN ('pending', 'in_progress')")  # spelled as in the partial index, or it would not be used
_requests, _attempts, _refusals = delivery_requests.c, delivery_attempts.c, delivery_refusals.c
_notices, _notes = notices.c, notifications.c
_Trace = dict[str, Any]  # as people and programs are shown it: hops, deliveries, refusals
_Note = tuple[Notification, Preferences, Mapping[str, Any] | None]  # with what its reader wants, and its e-mail copy
_Place = tuple["Column[Any]", "Column[Any]", "Column[Any] | None"]  # an id, the request behind it, and its sender
Row = Mapping[Any, Any]
_Hop = dict[str, Any]
_SENDS: Final = select(notice_sends.c.delivery_id, notice_sends.c.send).order_by(notice_sends.c.at)
_PLACES: tuple[_Place, ...] = (
    (_requests.id, _requests.request_id, _requests.origin_butler),
    (_requests.request_id, _requests.request_id, _requests.origin_butler),
    (_refusals.request_id, _refusals.request_id, _refusals.origin_butler),
    (_notices.request_id, _notices.request_id, _notices.agent),
    (_notes.id, _notes.id, None),
)


# -- One delivery, its attempts, or pages of deliveries --


class StoredDeliveries:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def delivery(self, delivery_id: str) -> dict[str, Any] | None:
        return await self._database.read(partial(delivery, delivery_id=delivery_id))

    async def attempts(self, delivery_id: str) -> Sequence[dict[str, Any]] | None:
        return await self._database.read(partial(attempts, delivery_id=delivery_id))

    async def approval(self, delivery_id: str) -> dict[str, Any] | None:
        return await self._database.read(partial(_approval_of, delivery_id=delivery_id))

    async def news(self, delivery_id: str) -> Sequence[dict[str, Any]]:
        return await self._database.read(partial(news, delivery_id=delivery_id))

    async def search(self, query: DeliveryQuery) -> Sequence[dict[str, Any]]:
        return await self._database.read(partial(search, query=query))

    async def trace(self, request_id: str) -> dict[str, Any]:
        return await self._database.read(partial(trace, request_id=request_id))


def delivery(connection: Connection, delivery_id: str) -> dict[str, Any] | None:
    """No content: that is for the trace."""
    wanted = select(*SUMMARY, _requests.idempotency_key, _requests.on_uncertain, _requests.not_before).where(
        _requests.id == delivery_id
    )
    row = connection.execute(wanted).mappings().first()
    if row is None:
        return None
    shown = readable(row)
    not_before = shown.pop("not_before")
    latest = select(delivery_attempts).where(_attempts.delivery_request_id == delivery_id)
    last = connection.execute(latest.order_by(_attempts.attempt_number.desc()).limit(1)).mappings().first()
    quarantined = select(delivery_dead_letter.c.id).where(delivery_dead_letter.c.delivery_request_id == delivery_id)
    return shown | {
        "next_attempt_at": not_before if row["status"] == Status.PENDING else None,
        "dead_letter_id": connection.execute(quarantined).scalar(),
        "latest_attempt": readable(last) if last else None,
    }


def attempts(connection: Connection, delivery_id: str) -> list[dict[str, Any]] | None:
    made = select(delivery_attempts).where(_attempts.delivery_request_id == delivery_id)
    rows = connection.execute(made.order_by(_attempts.attempt_number)).mappings().all()
    if not rows and connection.execute(select(_requests.id).where(_requests.id == delivery_id)).first() is None:
        return None
    return [readable(row) for row in rows]


def news(connection: Connection, delivery_id: str) -> list[dict[str, Any]]:
    table = delivery_news.c
    asked = select(delivery_news).where(table.delivery_request_id == delivery_id).order_by(table.at, table.event_id)
    return [readable(row) for row in connection.execute(asked).mappings()]


def search(connection: Connection, query: DeliveryQuery) -> list[dict[str, Any]]:
    return [readable(row) for row in connection.execute(_matching(query)).mappings()]


def _matching(query: DeliveryQuery) -> Select[Any]:
    """An id is a time, so newest first is simply downward by id."""
    found = select(*SUMMARY).order_by(_requests.id.desc()).limit(query.page.limit + 1)
    for column, value in (
        (_requests.origin_butler, query.origin_butler),
        (_requests.channel, query.channel),
        (_requests.intent, query.intent),
    ):
        if value is not None:
            found = found.where(column == str(value))
    if query.status is not None:
        found = found.where(*_in_status(query.status))
    if query.since_us is not None:
        found = found.where(_requests.created_at >= query.since_us)
    if query.until_us is not None:
        found = found.where(_requests.created_at <= query.until_us)
    if query.page.before is not None:
        found = found.where(_requests.id < query.page.before)
    return found


def _in_status(status: Status) -> list[ColumnElement[bool]]:
    """Written out, and for a rare one with the condition of its index: only then can the index be used."""
    written = _requests.status == bindparam("status", str(status), literal_execute=True)
    return [written, IS_RARE] if status in RARE else [written]  # type: ignore[list-item]  # text is a condition, too


# -- What stands around one delivery: its approval, its channel's circuit, and what must go first --


def surroundings(connection: Connection, delivery_id: str, channel: str) -> dict[str, Any]:
    return {
        "approval": _approval_of(connection, delivery_id),
        "circuit": _circuit(connection, channel),
        "ahead": _ahead(connection, delivery_id),
        **corrections_around(connection, delivery_id),
        "closed": _closed(connection, delivery_id),
    }


def _approval_of(connection: Connection, delivery_id: str) -> dict[str, Any] | None:
    row = _action(connection, delivery_id)
    return _approval(row) if row is not None else None


def _action(connection: Connection, delivery_id: str) -> RowMapping | None:
    return connection.execute(select(pending_actions).where(pending_actions.c.id == delivery_id)).mappings().first()


def _approval(row: RowMapping) -> dict[str, Any]:
    return {
        "status": row["status"],
        "expires_at": to_text(row["expires_at"]),
        "decided_by": row["decided_by"],
        "decided_at": to_text(row["decided_at"]) if row["decided_at"] is not None else None,
        "reason": row["decision_reason"],
    }


def _circuit(connection: Connection, channel: str) -> dict[str, Any] | None:
    row = connection.execute(select(circuit_states).where(circuit_states.c.channel == channel)).mappings().first()
    if row is None:
        return None
    return {"state": row["state"], "consecutive_failures": row["failures"], "trip_reason": row["reason"]}


def _closed(connection: Connection, delivery_id: str) -> str | None:
    """Why nothing more is sent to the address this one went to."""
    sent = connection.execute(select(_requests.channel, _requests.address).where(_requests.id == delivery_id)).first()
    found = closed_at(connection, sent.channel, sent.address) if sent else None
    return found.sentence if found and found.is_closed else None


def _ahead(connection: Connection, delivery_id: str) -> int:
    """Messages to one address leave one by one, and those of one sender in the order of their ids."""
    mine = select(_requests.order_key, _requests.origin_butler).where(_requests.id == delivery_id).subquery()
    first = or_(_requests.origin_butler == mine.c.origin_butler, _requests.status == "in_progress")
    here = select(mine.c.order_key).scalar_subquery()
    asked = select(func.count()).where(_requests.order_key == here, _requests.id < delivery_id, _OPEN, first)
    return int(connection.execute(asked).scalar_one())


def note(
    connection: Connection, notification_id: str
) -> tuple[Notification, Preferences, dict[str, Any] | None] | None:
    """A note in somebody's inbox, what its reader wants now, and the row of its e-mail copy."""
    row = connection.execute(select(notifications).where(notifications.c.id == notification_id)).mappings().first()
    if row is None:
        return None
    asked = select(deferred_emails).where(deferred_emails.c.notification_id == notification_id)
    copy = connection.execute(asked).mappings().first()
    preferences = wishes_of(connection, row["user_id"])
    return notification_of(row), preferences, dict(copy) if copy is not None else None


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


def _hops(connection: Connection, request_id: str, deliveries: Sequence[Row], refusals: Iterable[Row]) -> list[_Hop]:
    """Oldest first. What became a notice was handed in then, however often and whenever it left."""
    waited = {row["id"]: row for row in _notices_of(connection, request_id) if _asked(row).get("handed_by")}
    left, carried = dict[str, Row](), set[str]()
    by_id = {row["id"]: row for row in deliveries if row["handed_by"]}
    for delivery_id, send in connection.execute(_SENDS.where(notice_sends.c.delivery_id.in_(by_id))):
        for notice in waited.keys() & set(json.loads(send)["notices"]):
            carried.add(delivery_id)
            left.setdefault(notice, by_id[delivery_id])
    found = [_waited(row, left.get(name)) for name, row in waited.items()]
    found += [_sent(row) for name, row in by_id.items() if name not in carried]
    found += [_refused(row) for row in refusals if row["handed_by"]]
    return sorted(found, key=lambda one: str(one["created_at"]))


def _notices_of(connection: Connection, request_id: str) -> Iterable[Row]:
    return connection.execute(select(notices).where(notices.c.request_id == request_id)).mappings()


def _asked(notice: Row) -> dict[str, Any]:
    asked: dict[str, Any] = json.loads(notice["outgoing"] or "{}")
    return asked


def _sent(row: Row) -> _Hop:
    return _hop(row, row["origin_butler"], row["handed_by"]) | {
        "status": str(answer_to(Status(row["status"]))),
        "delivery_id": row["id"],
        "error_class": row["terminal_error_class"],
        "error_message": row["terminal_error_message"],
    }


def _waited(row: Row, delivery: Row | None) -> _Hop:
    if delivery is not None:
        return _sent(delivery) | {"created_at": to_text(row["created_at"])}
    asked, muted = _asked(row), row["state"] == NoticeState.MUTED
    told = {"channel": asked["channel"], "intent": asked.get("intent", str(Intent.SEND))}
    status = AnswerStatus.MUTED if muted else AnswerStatus.DEFERRED
    return _hop(row, row["agent"], asked["handed_by"]) | told | {"status": str(status)}


def _refused(row: Row) -> _Hop:
    return _hop(row, row["origin_butler"], row["handed_by"]) | {
        "status": str(AnswerStatus.ERROR),
        "error_class": row["error_class"],
        "error_message": row["error_message"],
    }


def _hop(row: Row, source: str, part: str) -> _Hop:
    return {
        "request_id": row["request_id"],
        "source_butler": source,
        "part": part,
        "channel": row.get("channel") or None,
        "intent": row.get("intent") or None,
        "delivery_id": None,
        "error_class": None,
        "error_message": None,
        "created_at": to_text(row["created_at"]),
    }


# -- Everything the ledger knows about one request, in the order it happened --


def _request_ids(connection: Connection, identifier: str) -> list[str]:
    """A request id, or the request behind a delivery id."""
    table = delivery_requests.c
    found = select(table.request_id).where(or_(table.request_id == identifier, table.id == identifier)).distinct()
    ids = list(connection.execute(found).scalars())
    return ids or [identifier]


def trace(connection: Connection, request_id: str) -> dict[str, Any]:
    """Oldest first. Replays belong to the request of the delivery they repeat."""
    rows = _rows(connection, _by_request(delivery_requests, request_id))
    attempts = _kept(connection, delivery_attempts, delivery_attempts.c.attempt_number, request_id)
    receipts = _kept(connection, delivery_receipts, delivery_receipts.c.part, request_id)
    news = _kept(connection, delivery_news, delivery_news.c.at, request_id)
    replies = _kept(connection, delivery_replies, delivery_replies.c.at, request_id)
    letters = _kept(connection, delivery_dead_letter, delivery_dead_letter.c.created_at, request_id)
    deliveries = [
        _traced_delivery(
            row, attempts[row["id"]], receipts[row["id"]], news[row["id"]], next(iter(letters[row["id"]]), None)
        )
        | _corrected(connection, row["id"])
        | {"replies": replies[row["id"]]}
        for row in rows
    ]
    refusals = _rows(connection, _by_request(delivery_refusals, request_id))
    return {
        "request_id": request_id,
        "hops": _hops(connection, request_id, rows, refusals),
        "deliveries": deliveries,
        "delivery_count": len(deliveries),
        "refusals": [readable(row) for row in refusals if row["limit_type"]],
    }


def _traced_delivery(row: Mapping[Any, Any], attempts: Any, receipts: Any, news: Any, letter: Any) -> dict[str, Any]:
    return readable(row) | {
        "delivery_id": row["id"],
        "request_envelope": json.loads(row["request_envelope"]),
        "attempts": attempts,
        "receipts": receipts,
        "news": news,
        "dead_letter": letter,
    }


def _corrected(connection: Connection, delivery_id: str) -> dict[str, Any]:
    """Nothing for nearly all."""
    return {name: value for name, value in corrections_around(connection, delivery_id).items() if value}


def _kept(connection: Connection, table: Any, order: Any, request_id: str) -> dict[str, list[dict[str, Any]]]:
    """What one table holds about each delivery of the request."""
    belongs = table.c.delivery_request_id == delivery_requests.c.id
    found = select(table).join(delivery_requests, belongs).where(delivery_requests.c.request_id == request_id)
    kept: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in _rows(connection, found.order_by(order)):
        kept[row["delivery_request_id"]].append(readable(row))
    return kept


def _by_request(table: Any, request_id: str) -> Select[Any]:
    return select(table).where(table.c.request_id == request_id).order_by(table.c.created_at, table.c.id)


def _rows(connection: Connection, statement: Select[Any]) -> list[RowMapping]:
    return list(connection.execute(statement).mappings())


# -- One delivery with everything that was written down about it --


def delivery_file(connection: Connection, delivery_id: str) -> dict[str, Any] | None:
    row = _row(connection, delivery_id)
    if row is None:
        return None
    record = trace(connection, row["request_id"])
    mine = next(one for one in record["deliveries"] if one["delivery_id"] == delivery_id)
    action = _action(connection, delivery_id)
    return {
        "delivery": mine | {"attempts": row["attempts"]},
        "attempts": mine["attempts"],
        "siblings": [one for one in record["deliveries"] if one["delivery_id"] != delivery_id],
        "hops": record["hops"],
        "refusals": record["refusals"],
        "approval": _approval(action) | {"risk": action["risk"]} if action is not None else None,
        "approval_events": _approval_events(connection, delivery_id),
        "ahead": _ahead(connection, delivery_id),
        **corrections_around(connection, delivery_id),
    }


def _row(connection: Connection, delivery_id: str) -> RowMapping | None:
    wanted = select(_requests.request_id, _requests.attempts).where(_requests.id == delivery_id)
    return connection.execute(wanted).mappings().first()


def _approval_events(connection: Connection, delivery_id: str) -> list[dict[str, Any]]:
    events = approval_events.c
    found = select(events.event_type, events.actor, events.reason, events.occurred_at)
    rows = connection.execute(found.where(events.action_id == delivery_id).order_by(events.occurred_at, events.id))
    return [
        {"type": row.event_type, "actor": row.actor, "reason": row.reason, "at": to_text(row.occurred_at)}
        for row in rows
    ]


# -- What an id means, for a reader: its trace, and a reason for each thing it stands for --


class NothingKnown(SettingsError):
    """No delivery, request, notification or question has this id."""


class SeveralMeant(SettingsError):
    """The beginning of more ids than one."""

    def __init__(self, prefix: str, ids: Iterable[str]) -> None:
        super().__init__(f"'{prefix}' is the beginning of several ids; give more of it. There are {', '.join(ids)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryReason:
    id: str
    why: str


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """The record as one connection sees it, at one moment."""

    connection: Connection

    def trace(self, identifier: str) -> dict[str, Any]:
        return trace(self.connection, _request_ids(self.connection, identifier)[0])

    def note(self, identifier: str) -> tuple[Notification, Preferences, dict[str, Any] | None] | None:
        return note(self.connection, identifier)

    def around(self, delivery_id: str, channel: str) -> dict[str, Any]:
        return surroundings(self.connection, delivery_id, channel)

    def with_prefix(self, prefix: str, *, origin: str | None, most: int) -> dict[str, str]:
        return ids_with_prefix(self.connection, prefix, origin=origin, most=most)

    def recent_ids(self, limit: int) -> list[str]:
        return recent_ids(self.connection, limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """How the household decides, so that a reason given is the reason that counts."""

    attempts_for: Callable[[Priority], int]
    why_note: Callable[[_Note], str]
    why_question: Callable[[str, str | None], str | None]  # of an id, for a sender or for anybody
    now_us: int

    def reasons(self, history: StoredHistory, identifier: str, origin: str | None = None) -> list[DeliveryReason]:
        """One paragraph for each delivery, refusal, note or question that the identifier stands for."""
        meant = _meant(history, identifier, origin)
        notes = self._of_note(history, meant) if origin is None else []
        notes += self._of_question(meant, origin)
        found = _trace(history, meant, origin)
        told = [self._of_delivery(history, delivery) for delivery in found["deliveries"]]
        chosen = [one for one in told if one.id == meant] or told
        refused = [DeliveryReason(id=one["id"], why=why_refused(one, self.now_us)) for one in found["refusals"]]
        return notes + chosen + refused or [_without_delivery(_known(history, meant, origin))]

    def _of_note(self, history: StoredHistory, identifier: str) -> list[DeliveryReason]:
        found = history.note(identifier)
        return [] if found is None else [DeliveryReason(id=identifier, why=self.why_note(found))]

    def _of_question(self, identifier: str, origin: str | None) -> list[DeliveryReason]:
        why = self.why_question(identifier, origin)
        return [] if why is None else [DeliveryReason(id=identifier, why=why)]

    def _of_delivery(self, history: StoredHistory, delivery: Mapping[str, Any]) -> DeliveryReason:
        attempts = self.attempts_for(Priority(delivery["priority"]))
        around = Around(**history.around(delivery["id"], delivery["channel"]), max_attempts=attempts)
        return DeliveryReason(id=delivery["id"], why=why(delivery, delivery["attempts"], self.now_us, around))


def traced(history: StoredHistory, identifier: str, origin: str | None = None) -> _Trace:
    """With an `origin`, only what that sender has sent is known."""
    return _known(history, _meant(history, identifier, origin), origin)


def nothing_traced(request_id: str) -> _Trace:
    """Of a request that sent nothing."""
    return {"request_id": request_id, "hops": [], "deliveries": [], "delivery_count": 0, "refusals": []}


def _meant(history: StoredHistory, identifier: str, origin: str | None) -> str:
    """The one id that begins so. Ids of one request are one: made in the same moment, they begin alike."""
    if len(identifier) < _SHORTEST_PREFIX or _anything(_trace(history, identifier, origin)):
        return identifier
    found = history.with_prefix(identifier, origin=origin, most=_MOST_CANDIDATES)
    if len(set(found.values())) > 1:
        raise SeveralMeant(identifier, found)
    return next(iter(found if len(found) == 1 else found.values()), identifier)


def _without_delivery(found: _Trace) -> DeliveryReason:
    """The switchboard noted the call, and nothing came of it."""
    hop = found["hops"][-1]
    reason = hop["error_message"] or hop["status"]
    return DeliveryReason(
        id=found["request_id"], why=f"It never became a delivery: {reason}. Nothing was stored or sent."
    )


def _trace(history: StoredHistory, identifier: str, origin: str | None) -> _Trace:
    found = history.trace(identifier)
    return found if origin is None else _of_origin(found, origin)


def _of_origin(found: _Trace, origin: str) -> _Trace:
    """A request's id is any text, so that two senders may have chosen the same."""
    deliveries = [one for one in found["deliveries"] if one["origin_butler"] == origin]
    return {
        "request_id": found["request_id"],
        "hops": [one for one in found["hops"] if one["source_butler"] == origin],
        "deliveries": deliveries,
        "delivery_count": len(deliveries),
        "refusals": [one for one in found["refusals"] if one["origin_butler"] == origin],
    }


def _anything(found: _Trace) -> bool:
    return bool(found["hops"] or found["deliveries"] or found["refusals"])


def _known(history: StoredHistory, identifier: str, origin: str | None) -> _Trace:
    found = _trace(history, identifier, origin)
    if _anything(found):
        return found
    if origin is not None:
        raise NothingKnown(f"Nothing of yours is known under '{identifier}'.")
    ids = history.recent_ids(_REMEMBERED)
    meant = nearest(identifier, ids)
    latest = f"The newest delivery is {ids[0]}." if ids else "No delivery has been stored yet."
    raise NothingKnown(
        f"Nothing is known of '{identifier}'{f', did you mean {meant}?' if meant else '.'} {latest} "
        "Give the id of a delivery, a request, a notification or a question."
    )
