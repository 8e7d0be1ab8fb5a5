"""Remove what else grows without bound once it is over and old: logs, sessions, read notes, ended intents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Table, and_, bindparam, delete, func, not_, or_, select, update

from postroom.domain.appointment import AppointmentStatus
from postroom.domain.conversation_states import SETTLED
from postroom.domain.intent import TERMINAL as ENDED
from postroom.domain.retention import Retention
from postroom.domain.session import TERMINAL as OVER
from postroom.domain.upload import UPLOAD_LIFE_US
from postroom.world.store.engine.looked_up import looked_up
from postroom.world.store.files.uploads import has_delivery
from postroom.world.store.questions.erasing import erase_old, old_questions, old_words
from postroom.world.store.tables.approvals import heard_threads
from postroom.world.store.tables.attention import (
    CLOSED,
    HANDED_OVER,
    OPEN,
    attention_log,
    digests,
    notice_sends,
    notices,
)
from postroom.world.store.tables.audit import audit_entries
from postroom.world.store.tables.butlers import appointments
from postroom.world.store.tables.contacts import contact_offers
from postroom.world.store.tables.conversations import ERASED, inbound_messages
from postroom.world.store.tables.deliveries import delivery_refusals
from postroom.world.store.tables.idempotency_keys import idempotency_keys
from postroom.world.store.tables.inbox import deferred_emails, notifications
from postroom.world.store.tables.intents import intents
from postroom.world.store.tables.questions import questions
from postroom.world.store.tables.sessions import sessions
from postroom.world.store.tables.uploads import uploads
from postroom.world.store.tables.webhooks import webhook_deliveries


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """Rows of one table that nothing needs any more, and whose absence breaks no promise."""

    name: str
    table: Table
    condition: Callable[[Retention], ColumnElement[bool]]

    def count(self, connection: Connection, retention: Retention) -> int:
        asked = select(func.count()).select_from(self.table).where(self.condition(retention))
        return int(connection.execute(asked).scalar_one())

    def remove(self, connection: Connection, retention: Retention, limit: int) -> int:
        key = list(self.table.primary_key)
        found = select(*key).where(self.condition(retention)).limit(limit)
        found = found.with_for_update(of=self.table, skip_locked=True)
        keys = connection.execute(found).all()
        if keys and len(key) == 1:
            connection.execute(delete(self.table).where(key[0].in_([row[0] for row in keys])))
        elif keys:  # SQLite reads the whole table for a list of pairs
            one = delete(self.table).where(*(column == bindparam(f"its_{column.name}") for column in key))
            connection.execute(one, [{f"its_{name}": value for name, value in row._mapping.items()} for row in keys])
        return len(keys)


class QuestionWords(Stale):
    """Rows that stay for longer than what was said in them."""

    __slots__ = ()

    def remove(self, connection: Connection, retention: Retention, limit: int) -> int:
        return erase_old(connection, ended_before_us=retention.words_before_us, now_us=retention.now_us, limit=limit)


class InboundWords(Stale):
    """The same for what people wrote to us."""

    __slots__ = ()

    def remove(self, connection: Connection, retention: Retention, limit: int) -> int:
        found = select(inbound_messages.c.id).where(self.condition(retention)).limit(limit)
        ids = connection.execute(found.with_for_update(skip_locked=True)).scalars().all()
        erased = update(inbound_messages).where(inbound_messages.c.id.in_(ids)).values(ERASED)
        connection.execute(erased)
        return len(ids)


class OldNotices(Stale):
    """With what the log says of them: acceptances in the log are the notices there are."""

    __slots__ = ()

    def remove(self, connection: Connection, retention: Retention, limit: int) -> int:
        found = select(notices.c.id).where(self.condition(retention)).limit(limit)
        ids = connection.execute(found.with_for_update(skip_locked=True)).scalars().all()
        if ids:
            connection.execute(delete(attention_log).where(attention_log.c.notice.in_(ids)))
            connection.execute(delete(notices).where(notices.c.id.in_(ids)))
        return len(ids)


def _old_notices(keep: Retention) -> ColumnElement[bool]:
    return and_(CLOSED, notices.c.created_at < keep.settled_before_us)


def _needed_by_open(person: ColumnElement[Any], keep: Retention) -> ColumnElement[bool]:
    """What is old and still open may need what happened long ago; these people are looked up once, not row by row."""
    return person.in_(select(notices.c.person).where(OPEN, notices.c.created_at < keep.settled_before_us))


def _old_sends(keep: Retention) -> ColumnElement[bool]:
    send = notice_sends.c
    over = and_(HANDED_OVER, send.at < keep.settled_before_us)
    return and_(over, not_(_needed_by_open(send.person, keep)))


def _old_facts(keep: Retention) -> ColumnElement[bool]:
    log = attention_log.c
    old = and_(log.notice.is_(None), log.at < keep.settled_before_us)
    return and_(old, not_(_needed_by_open(log.person, keep)))


def _unsent_digests(_: Retention) -> ColumnElement[bool]:
    return not_(looked_up(notice_sends.c.key == digests.c.id))


def _old_inbound(before_us: int) -> ColumnElement[bool]:
    table = inbound_messages.c
    return and_(table.status.in_(sorted(map(str, SETTLED))), table.received_at < before_us)


def _inbound_words(keep: Retention) -> ColumnElement[bool]:
    table = inbound_messages.c
    return and_(_old_inbound(keep.words_before_us), table.text.is_not(None))


def _open_intent(intent_id: ColumnElement[Any]) -> ColumnElement[bool]:
    return looked_up(intents.c.id == intent_id, intents.c.status.not_in(sorted(map(str, ENDED))))


def _notes(keep: Retention) -> ColumnElement[bool]:
    """What a person has read, put away or dismissed; an unread note waits for as long as it takes."""
    note, copy = notifications.c, deferred_emails.c
    dealt_with = or_(note.read_at.is_not(None), note.archived_at.is_not(None), note.dismissed_at.is_not(None))
    on_its_way = looked_up(
        copy.notification_id == note.id,
        copy.delivered_at.is_(None),
        copy.failed_at.is_(None),
        copy.cancelled_at.is_(None),
    )
    snoozed = and_(note.snoozed_until.is_not(None), note.snoozed_until >= keep.now_us)
    return and_(note.updated_at < keep.settled_before_us, dealt_with, not_(on_its_way), not_(snoozed))


def _sessions(keep: Retention) -> ColumnElement[bool]:
    ended = and_(sessions.c.status.in_(sorted(map(str, OVER))), sessions.c.finished_at < keep.settled_before_us)
    return and_(ended, not_(_open_intent(sessions.c.request_id)))


def _intents(keep: Retention) -> ColumnElement[bool]:
    """With their events and messages; its key may be used again then."""
    return and_(intents.c.status.in_(sorted(map(str, ENDED))), intents.c.updated_at < keep.settled_before_us)


def _older(column: ColumnElement[int]) -> Callable[[Retention], ColumnElement[bool]]:
    return lambda keep: column < keep.settled_before_us


STALE: Final = (
    Stale(name="refusals", table=delivery_refusals, condition=_older(delivery_refusals.c.created_at)),
    Stale(name="sessions", table=sessions, condition=_sessions),
    Stale(name="notes", table=notifications, condition=_notes),
    Stale(name="intents", table=intents, condition=_intents),
    Stale(
        name="webhook calls",
        table=webhook_deliveries,
        condition=lambda keep: and_(
            webhook_deliveries.c.status != "pending", webhook_deliveries.c.created_at < keep.settled_before_us
        ),
    ),
    Stale(
        name="appointments",
        table=appointments,
        condition=lambda keep: and_(
            appointments.c.status != str(AppointmentStatus.WAITING), appointments.c.due_at < keep.settled_before_us
        ),
    ),
    Stale(name="heard threads", table=heard_threads, condition=_older(heard_threads.c.heard_at)),
    InboundWords(name="words people wrote", table=inbound_messages, condition=_inbound_words),
    Stale(
        name="messages people wrote",
        table=inbound_messages,
        condition=lambda keep: _old_inbound(keep.settled_before_us),
    ),
    Stale(name="keys of calls", table=idempotency_keys, condition=_older(idempotency_keys.c.created_at)),
    QuestionWords(name="words of questions", table=questions, condition=lambda keep: old_words(keep.words_before_us)),
    Stale(name="questions", table=questions, condition=lambda keep: old_questions(keep.questions_before_us)),
    OldNotices(name="notices", table=notices, condition=_old_notices),
    Stale(name="sends of notices", table=notice_sends, condition=_old_sends),
    Stale(name="digests", table=digests, condition=_unsent_digests),
    Stale(name="facts about notices", table=attention_log, condition=_old_facts),
    Stale(name="acts of people", table=audit_entries, condition=lambda keep: audit_entries.c.at < keep.audit_before_us),
    Stale(name="offers", table=contact_offers, condition=lambda keep: contact_offers.c.expires_at < keep.now_us),
)


def _uploads(keep: Retention) -> ColumnElement[bool]:
    """Those no message took in time, and those whose delivery is nowhere any more; then their bytes may go, too."""
    table = uploads.c
    too_old = and_(table.used_by.is_(None), table.expires_at < keep.now_us)
    left = and_(table.used_at < keep.now_us - UPLOAD_LIFE_US, not_(has_delivery()))
    return or_(too_old, left)


UPLOADS: Final = Stale(name="uploads", table=uploads, condition=_uploads)
