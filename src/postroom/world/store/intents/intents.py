"""Intents on disk: every change and its events in one commit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, insert, literal, or_, select, true, update

from postroom.domain.errors import Code, Refused
from postroom.domain.intent import ASK, TERMINAL, AgentIntent, IntentChange, IntentEvent, Round
from postroom.domain.intent_question import ended_by, subject_of
from postroom.domain.question import Subject
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.repeated import Repeated
from postroom.world.store.engine.retry_conflict import write_twice
from postroom.world.store.engine.turns import wait_for_turn
from postroom.world.store.intents.order import LAST_POSITION, NEXT_POSITION
from postroom.world.store.intents.rows import changing_columns, event_row, intent_row, read_event, read_intent
from postroom.world.store.intents.webhook_news import tell_subscribers
from postroom.world.store.questions.steps import end_question, hold_questions
from postroom.world.store.tables.deliveries import delivery_receipts, delivery_requests
from postroom.world.store.tables.intents import (
    CARRIED,
    inbound_offsets,
    intent_events,
    intent_members,
    intent_messages,
    intents,
)
from postroom.world.store.tables.questions import presentations, questions
from postroom.world.store.tables.sessions import sessions

ORIGIN = "intents"
CARDS_ORIGIN = "questions"
_GLANCE_US = 1_000_000  # a delivery under way is looked at once a second, however much else happens


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
            connection.execute(insert(intents), intent_row(change.intent))
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

    def hold(self, connection: Connection, subject: Subject) -> None:
        _row(connection, subject.id, lock=True)

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

    async def round(self, now_us: int, limit: int, *, without: Sequence[str] = ()) -> Round:
        """What is due, what is under way longest unseen, and when there will be more; all of it `without` some."""

        def work(connection: Connection) -> Round:
            near = intents.c.id.not_in(without) if without else true()
            due = select(intents).where(intents.c.next_at <= now_us, near).order_by(intents.c.next_at).limit(limit)
            unseen = intents.c.updated_at <= now_us - _GLANCE_US
            carried = select(intents).where(CARRIED, unseen, near).order_by(intents.c.updated_at).limit(limit)
            later = select(intents.c.next_at).where(intents.c.next_at > now_us).order_by(intents.c.next_at).limit(1)
            bad: list[str] = []
            return Round(
                due=_readable(connection.execute(due), bad),
                carried=_readable(connection.execute(carried), bad),
                next_due_us=connection.execute(later).scalar(),
                unreadable=tuple(bad),
            )

        return await self._database.read(work)

    async def open_asks(self, correlation_id: str, from_agent: str) -> Sequence[AgentIntent]:
        asked = select(intents).where(
            intents.c.correlation_id == correlation_id,
            intents.c.from_agent == from_agent,
            intents.c.intent_type == ASK,
            intents.c.status.not_in([str(status) for status in TERMINAL]),
        )
        return await self._database.read(lambda connection: [read_intent(row) for row in connection.execute(asked)])

    async def deliveries(self, intent_id: str) -> Sequence[tuple[str, str, str | None]]:
        """Status, reason for waiting and final error class of each delivery made for this intent, cards included."""
        table = delivery_requests.c
        about = questions.c.subject == str(subject_of(intent_id))
        cards = select(literal("ask:") + presentations.c.id).join(questions).where(about)
        own = and_(table.request_id == intent_id, table.origin_butler == ORIGIN)
        card = and_(table.request_id.in_(cards), table.origin_butler == CARDS_ORIGIN)
        asked = (
            select(table.status, table.waiting_reason, table.terminal_error_class)
            .where(or_(own, card))
            .order_by(table.id)
        )
        return await self._database.read(
            lambda connection: [(row.status, row.waiting_reason or "", row[2]) for row in connection.execute(asked)]
        )

    async def sessions(self, intent_id: str) -> Sequence[tuple[str, str, str | None, str]]:
        """Status, last words, error class and butler of each session that works on this intent."""
        asked = (
            select(sessions.c.status, sessions.c.transcript, sessions.c.error_class, sessions.c.butler)
            .where(sessions.c.request_id == intent_id, sessions.c.trigger_source == "route")
            .order_by(sessions.c.id)
        )
        rows = await self._database.read(lambda connection: [tuple(row) for row in connection.execute(asked)])
        return [(status, _last_words(transcript), failure, butler) for status, transcript, failure, butler in rows]

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

    async def offset(self, source: str) -> int | None:
        asked = select(inbound_offsets.c.position).where(inbound_offsets.c.source == source)
        return await self._repeated.read(source, lambda connection: connection.execute(asked).scalar())

    async def save_offset(self, source: str, position: int) -> None:
        def work(connection: Connection) -> None:
            mine = inbound_offsets.c.source == source
            if not connection.execute(update(inbound_offsets).where(mine).values(position=position)).rowcount:
                connection.execute(insert(inbound_offsets), {"source": source, "position": position})

        await write_twice(self._database, work)

    def _changed(
        self, connection: Connection, before: AgentIntent, decide: Callable[[AgentIntent], IntentChange], but: str = ""
    ) -> IntentChange:
        """The questions about an intent that is over are held before its events are written, and end after them."""
        change = decide(before)
        over = before.is_open and not change.intent.is_open
        asked = hold_questions(connection, [str(subject_of(before.id))]) if over else []
        if change.intent != before:
            values = changing_columns(change.intent)
            connection.execute(update(intents).where(intents.c.id == before.id).values(values))
        self._append(connection, change, before)
        for question in asked:
            if question.id != but:
                end_question(connection, question, ended_by(question, change.intent))
        return change

    def _append(self, connection: Connection, change: IntentChange, before: AgentIntent | None = None) -> None:
        """The events last, because from there to the commit everybody else waits."""
        if change.says is not None:
            connection.execute(insert(intent_messages), self._message(change.intent, change.says))
        if change.events:
            tell_subscribers(connection, change, self._mint)
            newcomers = _newcomers(connection, change.intent, before)
            wait_for_turn(connection)
            events = [event_row(event) for event in change.events]
            connection.execute(insert(intent_events).values(position=NEXT_POSITION), events)
            if newcomers:
                connection.execute(insert(intent_members).values(position=LAST_POSITION), newcomers)

    def _message(self, intent: AgentIntent, says: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "id": self._mint(intent.updated_at_us),
            "intent_id": intent.id,
            "author": str(says["author"]),
            "message": str(says["message"]),
            "created_at": intent.updated_at_us,
        }


def _last_words(transcript: str | None) -> str:
    record = json.loads(transcript) if transcript else {}
    return str(record.get("text") or "")


def _row(connection: Connection, intent_id: str, *, lock: bool = False) -> Row[Any] | None:
    asked = select(intents).where(intents.c.id == intent_id)
    return connection.execute(asked.with_for_update() if lock else asked).first()


def _readable(rows: Iterable[Row[Any]], bad: list[str]) -> tuple[AgentIntent, ...]:
    """One damaged row must not hide the others."""
    found: list[AgentIntent] = []
    for row in rows:
        try:
            found.append(read_intent(row))
        except (ValueError, TypeError, KeyError):
            bad.append(row.id)
    return tuple(found)


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
