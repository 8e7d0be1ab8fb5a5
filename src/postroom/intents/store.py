"""Intents on disk: every change and its events in one commit."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    Connection,
    ForeignKey,
    Index,
    Integer,
    Row,
    Table,
    Text,
    UniqueConstraint,
    and_,
    bindparam,
    func,
    insert,
    or_,
    select,
    update,
)

from postroom.butlers.model import SessionStatus
from postroom.butlers.store import sessions
from postroom.delivery.afterwards.webhooks import WebhookEvent, webhook_deliveries, webhook_subscriptions
from postroom.delivery.store.tables import delivery_receipts, delivery_requests
from postroom.intents.model import (
    ASK,
    ORIGIN,
    TERMINAL,
    AgentIntent,
    IntentChange,
    IntentEvent,
    IntentEventType,
    IntentStatus,
    StepKind,
    ended_by,
)
from postroom.kernel.database.engine import Database, Repeated, wait_for_turn, write_twice
from postroom.kernel.database.moments import add_moments, put_moments
from postroom.kernel.database.rows import read, values
from postroom.kernel.database.schema import SHARED, metadata, one_of
from postroom.kernel.values.errors import Code, Refused
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.moments import Reason
from postroom.message.delivery import Status
from postroom.questions.model import Attempt, Question, Subject, SubjectKind, Verdict, VerdictKind
from postroom.questions.store.steps import end_question, hold_questions, is_about
from postroom.questions.store.tables import presentations, questions

_CARDS_ORIGIN = "questions"
GLANCE_US = 1_000_000  # a delivery under way is looked at once a second, however much else happens
MOMENTS: Final = "intent"  # the kind of what is due of it


_REASONS: Final = {
    StepKind.ASK: Reason.GO_ON,
    StepKind.REMIND: Reason.REMIND,
    StepKind.ESCALATE: Reason.ESCALATE,
    StepKind.EXPIRE: Reason.EXPIRE,
}


# The tables: intents, what happened to them, what was said, and whom to tell about it.


intents = Table(
    "intents",
    metadata,
    Column("id", Text, primary_key=True),
    Column("intent_type", Text, nullable=False),
    Column("correlation_id", Text, nullable=False),
    Column("from_agent", Text, nullable=False),
    Column("to_agent", Text, nullable=False),
    Column("handler", Text, nullable=False),
    Column("payload", Text, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("idempotency_key", Text),
    Column("fingerprint", Text, nullable=False),
    Column("submitted_by", Text, nullable=False),
    Column("reply_to", Text),
    Column("deadline_at", BigInteger),
    Column("macro_id", Text),
    Column("status", Text, nullable=False),
    Column("waiting_reason", Text),
    Column("seq", Integer, nullable=False),
    Column("plan", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("next_at", BigInteger),
    Column("carried", Boolean, nullable=False),
    Column("result", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    UniqueConstraint("from_agent", "idempotency_key"),
    CheckConstraint(one_of("status", IntentStatus), name="status"),
    Index("ix_intents_correlation_id", "correlation_id"),
    Index("ix_intents_from_agent_id", "from_agent", "id"),
    Index("ix_intents_to_agent_id", "to_agent", "id"),
    schema=SHARED,
)

intent_members = Table(
    "intent_members",
    metadata,
    Column("agent", Text, primary_key=True),
    Column("intent_id", Text, ForeignKey(intents.c.id, ondelete="CASCADE"), primary_key=True),
    Column("position", BigInteger, nullable=False),
    Index("ix_intent_members_agent_position", "agent", "position"),
    schema=SHARED,
)

intent_events = Table(
    "intent_events",
    metadata,
    Column("intent_id", Text, ForeignKey(intents.c.id, ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("id", Text, nullable=False),
    Column("event_type", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text),
    Column("waiting_reason", Text),
    Column("payload", Text, nullable=False),
    Column("position", BigInteger, nullable=False),
    UniqueConstraint("id"),
    CheckConstraint(one_of("status", IntentStatus), name="status"),
    Index("ix_intent_events_position", "position", unique=True),
    schema=SHARED,
)

intent_messages = Table(
    "intent_messages",
    metadata,
    Column("id", Text, primary_key=True),
    Column("intent_id", Text, ForeignKey(intents.c.id, ondelete="CASCADE"), nullable=False),
    Column("author", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_intent_messages_intent_id_id", "intent_id", "id"),
    schema=SHARED,
)


# One order for the events of all intents: that in which they are committed.

_events = intent_events.alias()

_LAST_POSITION: Final = select(func.max(_events.c.position)).scalar_subquery()
_NEXT_POSITION: Final = select(func.coalesce(func.max(_events.c.position), 0) + 1).scalar_subquery()


# Rows, and what they mean.


_FIXED: Final = (
    *("id", "intent_type", "correlation_id", "from_agent", "to_agent", "payload", "metadata", "idempotency_key"),
    *("fingerprint", "submitted_by", "reply_to", "deadline_at_us", "macro_id", "created_at_us"),
)


def read_intent(row: Row[Any]) -> AgentIntent:
    return read(AgentIntent, row)


def read_event(row: Row[Any]) -> IntentEvent:
    return read(IntentEvent, row)


# What those who want to hear of an intent are told.


def _tell_subscribers(connection: Connection, change: IntentChange, mint: Callable[[int], str]) -> None:
    """In the same commit as the change itself, so that no news is lost and none is invented."""
    asked = select(webhook_subscriptions).where(
        webhook_subscriptions.c.owner_agent.in_(sorted(change.intent.concerned)), webhook_subscriptions.c.active
    )
    rows = [
        {
            "id": mint(event.at_us),
            "subscription_id": row.id,
            "event_type": str(kind),
            "body": _body(event, kind, row.owner_agent),
            "status": "pending",
            "attempts": 0,
            "next_at": event.at_us,
            "created_at": event.at_us,
        }
        for row in connection.execute(asked)
        for event in change.events
        if (kind := _kind(event, change)) in json.loads(row.event_types)
    ]
    if rows:
        connection.execute(insert(webhook_deliveries), rows)


def _kind(event: IntentEvent, change: IntentChange) -> WebhookEvent:
    if event.event_type is IntentEventType.CREATED:
        return WebhookEvent.THREAD_CREATED
    answered = change.says is not None and event is change.events[-1]
    return WebhookEvent.REPLY_RECEIVED if answered else WebhookEvent.THREAD_UPDATED


def _body(event: IntentEvent, kind: WebhookEvent, owner_agent: str) -> str:
    """What happened, never what was said: whoever may read it can ask."""
    return json.dumps(
        {
            "event_id": event.id,
            "event_type": str(kind),
            "owner_agent": owner_agent,
            "thread_id": event.intent_id,
            "intent_event": str(event.event_type),
            "lifecycle_status": str(event.status),
            "seq": event.seq,
            "at": to_text(event.at_us),
        },
        separators=(",", ":"),
    )


# The intents themselves.


class RoutedSession(NamedTuple):
    """A butler's session for an intent: what it said, or the class of the error it ended with."""

    status: SessionStatus
    said: str
    failure: str | None
    butler: str


class StoredIntents:
    def __init__(self, database: Database, mint: Callable[[int], str]) -> None:
        self._database = database
        self._repeated = Repeated(database)
        self._mint = mint

    async def insert(self, change: IntentChange) -> tuple[AgentIntent, bool]:
        """The intent, or the one that came before it under the same id or the same sender's key."""

        def work(connection: Connection) -> tuple[AgentIntent, bool]:
            if known := _known(connection, change.intent):
                return known, False
            connection.execute(insert(intents), values(change.intent))
            add_moments(connection, MOMENTS, [(change.intent.id, intent_moments(change.intent))])
            self._append(connection, change)
            return change.intent, True

        return await write_twice(self._database, work)

    async def get(self, intent_id: str) -> AgentIntent | None:
        row = await self._database.read(lambda connection: _row(connection, intent_id))
        return read_intent(row) if row else None

    async def update(self, intent_id: str, decide: Callable[[AgentIntent], IntentChange]) -> IntentChange:
        """`decide` sees the intent as it is, and may run again; nobody else changes it meanwhile."""

        def work(connection: Connection) -> IntentChange:
            row = _row(connection, intent_id, lock=True)
            if row is None:
                raise Refused(Code.INTENT_NOT_FOUND, "there is no such intent")
            return self._changed(connection, read_intent(row), decide)

        return await write_twice(self._database, work)

    def change_within(
        self, connection: Connection, intent_id: str, decide: Callable[[AgentIntent], IntentChange], *, but: str
    ) -> None:
        """In the transaction that ends one question about it, `but`; the others end here. Raises Refused."""
        row = _row(connection, intent_id)
        if row is None:
            raise Refused(Code.INTENT_NOT_FOUND, "there is no such intent")
        self._changed(connection, read_intent(row), decide, but)

    async def events(self, intent_id: str, *, since: int, limit: int) -> Sequence[IntentEvent]:
        asked = (
            select(intent_events)
            .where(intent_events.c.intent_id == intent_id, intent_events.c.seq > since)
            .order_by(intent_events.c.seq)
            .limit(limit)
        )
        return await self._database.read(lambda connection: [read_event(row) for row in connection.execute(asked)])

    async def open_asks(self, correlation_id: str, from_agent: str) -> Sequence[AgentIntent]:
        asked = select(intents).where(
            intents.c.correlation_id == correlation_id,
            intents.c.from_agent == from_agent,
            intents.c.intent_type == ASK,
            intents.c.status.not_in([str(status) for status in TERMINAL]),
        )
        return await self._database.read(lambda connection: [read_intent(row) for row in connection.execute(asked)])

    async def shown_on(self, intent_id: str) -> Sequence[str]:
        """The channels on which it was put to somebody."""
        asked = select(delivery_requests.c.channel).where(_made_for(intent_id)).distinct()
        return await self._database.read(lambda connection: connection.execute(asked).scalars().all())

    async def deliveries(self, intent_id: str) -> Sequence[tuple[Status, str | None]]:
        """Status and final error class of each delivery made for this intent, cards included."""
        table = delivery_requests.c
        asked = select(table.status, table.terminal_error_class).where(_made_for(intent_id)).order_by(table.id)
        rows = await self._database.read(lambda connection: connection.execute(asked).all())
        return [(Status(status), failure) for status, failure in rows]

    async def last_session(self, intent_id: str) -> RoutedSession | None:
        """The last one that works on this intent."""
        asked = (
            select(sessions.c.status, sessions.c.transcript, sessions.c.error_class, sessions.c.butler)
            .where(sessions.c.request_id == intent_id, sessions.c.trigger_source == "route")
            .order_by(sessions.c.id.desc())
            .limit(1)
        )
        row = await self._database.read(lambda connection: connection.execute(asked).first())
        if row is None:
            return None
        record = json.loads(row.transcript) if row.transcript else {}
        said = str(record.get("text") or "")
        return RoutedSession(SessionStatus(row.status), said, row.error_class, row.butler)

    async def behind(self, channel: str, address: str, provider_id: str) -> str | None:
        """The intent whose message this was, when it went to this address."""
        table = delivery_requests.c
        asked = (
            select(table.request_id)
            .join(delivery_receipts, delivery_receipts.c.delivery_request_id == table.id)
            .where(
                delivery_receipts.c.provider_delivery_id == provider_id,
                table.origin_butler == bindparam("origin", ORIGIN, literal_execute=True),  # as its index has it
                table.channel == channel,
                table.address == address,
            )
            .order_by(table.id.desc())
            .limit(1)
        )
        return await self._database.read(lambda connection: connection.execute(asked).scalar())

    def _changed(
        self, connection: Connection, before: AgentIntent, decide: Callable[[AgentIntent], IntentChange], but: str = ""
    ) -> IntentChange:
        """The questions about an intent that is over are held before its events are written, and end after them."""
        change = decide(before)
        over = before.is_open and not change.intent.is_open
        asked = hold_questions(connection, SubjectKind.INTENT, [before.id]) if over else []
        if change.intent != before:
            changed = values(change.intent, without=_FIXED)
            connection.execute(update(intents).where(intents.c.id == before.id).values(changed))
            put_moments(connection, MOMENTS, before.id, intent_moments(change.intent))
        self._append(connection, change, before)
        for question in asked:
            if question.id != but:
                end_question(connection, question, ended_by(question, change.intent))
        return change

    def _append(self, connection: Connection, change: IntentChange, before: AgentIntent | None = None) -> None:
        """The events last, because from there to the commit everybody else waits."""
        if change.says is not None:
            at_us = change.intent.updated_at_us
            connection.execute(
                insert(intent_messages).values(
                    id=self._mint(at_us),
                    intent_id=change.intent.id,
                    author=change.says.author,
                    message=change.says.message,
                    created_at=at_us,
                )
            )
        if change.events:
            _tell_subscribers(connection, change, self._mint)
            newcomers = _newcomers(connection, change.intent, before)
            wait_for_turn(connection)
            events = [values(event) for event in change.events]
            connection.execute(insert(intent_events).values(position=_NEXT_POSITION), events)
            if newcomers:
                connection.execute(insert(intent_members).values(position=_LAST_POSITION), newcomers)


def _made_for(intent_id: str) -> ColumnElement[bool]:
    table = delivery_requests.c
    cards = select(presentations.c.id).join(questions).where(is_about(SubjectKind.INTENT, [intent_id]))
    own = and_(table.request_id == intent_id, table.origin_butler == ORIGIN)
    return or_(own, and_(table.request_id.in_(cards), table.origin_butler == _CARDS_ORIGIN))


def intent_moments(intent: AgentIntent) -> dict[Reason, int]:
    """The next step of what is open; whatever is under way is looked after."""
    found = {Reason.LOOK_AFTER: intent.updated_at_us + GLANCE_US} if intent.carried else {}
    if intent.next_at_us is not None:
        found[_REASONS[intent.plan[intent.position].kind]] = intent.next_at_us
    return found


def _row(connection: Connection, intent_id: str, *, lock: bool = False) -> Row[Any] | None:
    asked = select(intents).where(intents.c.id == intent_id)
    return connection.execute(asked.with_for_update() if lock else asked).first()


def _known(connection: Connection, intent: AgentIntent) -> AgentIntent | None:
    row = _row(connection, intent.id)
    if row is None and intent.idempotency_key is not None:
        asked = select(intents).where(
            intents.c.from_agent == intent.from_agent, intents.c.idempotency_key == intent.idempotency_key
        )
        row = connection.execute(asked).first()
    return read_intent(row) if row else None


def _newcomers(connection: Connection, intent: AgentIntent, before: AgentIntent | None) -> list[dict[str, str]]:
    """Whoever an intent concerns finds it in the inbox."""
    new = intent.concerned - (before.concerned if before else frozenset())
    if before and new:
        known = select(intent_members.c.agent).where(intent_members.c.intent_id == intent.id)
        new = new.difference(connection.execute(known).scalars())
    return [{"agent": agent, "intent_id": intent.id} for agent in sorted(new)]


# An intent answered in the transaction in which a question about it is answered.

Rule = Callable[[AgentIntent, Question, Attempt, Verdict], IntentChange]


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentRide:
    """`rule` says what the answer makes of the intent."""

    record: StoredIntents
    rule: Rule

    def hold(self, connection: Connection, subject: Subject) -> None:
        _row(connection, subject.id, lock=True)

    def expire(self, connection: Connection, question: Question, at_us: int) -> None:
        """An intent keeps its own time."""

    def decide(self, connection: Connection, question: Question, attempt: Attempt, verdict: Verdict) -> Verdict:
        intent_id = question.subject.id if question.subject else ""
        try:
            self.record.change_within(
                connection,
                intent_id,
                lambda intent: self.rule(intent, question, attempt, verdict),
                but=question.id,
            )
        except Refused as refused:
            return Verdict(kind=VerdictKind.LATE, code=str(refused.code), reason=refused.message)
        return verdict
