"""Prune a household: small transactions with rests between them, so that deliveries hardly notice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    and_,
    bindparam,
    delete,
    func,
    not_,
    or_,
    select,
    tuple_,
    update,
)

from postroom.approvals.store.tables import heard_threads, pending_actions
from postroom.attention.store import CLOSED, HANDED_OVER, OPEN, PENDING, attention_log, digests, notice_sends, notices
from postroom.butlers.model import TERMINAL as OVER
from postroom.butlers.model import AppointmentStatus
from postroom.butlers.store import appointments, sessions
from postroom.conversations.model import SETTLED
from postroom.conversations.store import ERASED, inbound_messages
from postroom.delivery.afterwards.webhooks import webhook_deliveries
from postroom.delivery.files.folder import FolderFiles, has_delivery, kept_among, uploads
from postroom.delivery.files.taking import Retention
from postroom.delivery.store.tables import (
    delivery_attempts,
    delivery_dead_letter,
    delivery_news,
    delivery_receipts,
    delivery_refusals,
    delivery_replies,
    delivery_requests,
)
from postroom.inbox.store.waiting import notifications
from postroom.intents.model import TERMINAL as ENDED
from postroom.intents.store import intents
from postroom.kernel.database.audit import audit_entries
from postroom.kernel.database.engine import Database, looked_up
from postroom.kernel.guard.answered_once import idempotency_keys
from postroom.message.attachment import UPLOAD_LIFE_US
from postroom.message.delivery import TERMINAL, Status
from postroom.people.store.tables import contact_offers
from postroom.questions.store.questions import erase_old, old_questions, old_words
from postroom.questions.store.tables import questions

DELIVERIES: Final = "deliveries"
FILES: Final = "files"
_AT_ONCE: Final = 500
_RESTS: Final = 2.0  # for every second of work
_LEAST: Final = 25  # fewer would hardly be shorter: a transaction has its price
_LONG_SECONDS, _SHORT_SECONDS = 0.020, 0.008
Result = TypeVar("Result")


# -- Settled deliveries, a small batch at a time --

_requests = delivery_requests.c
_replay = delivery_requests.alias("replay")
_letter = delivery_dead_letter.alias("letter")
_SETTLED: Final = sorted(str(status) for status in TERMINAL)
_NARRATED: Final = (delivery_attempts, delivery_receipts, delivery_news, delivery_replies, delivery_dead_letter)
_Place = tuple[int, str]
START: Final[_Place] = (-1, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """How many went, and the place to go on from; None when that was the last of them."""

    deliveries: int
    place: _Place | None


def due(settled_before_us: int) -> ColumnElement[bool]:
    """
    The originals that may go, each with all its replays.

    A lineage goes as a whole or stays as a whole, and stays for as long as a person
    may still want something of it: a letter nobody has decided on, a replay that is
    not over, an intent that still waits for the answer to this message.
    """
    replays = _replay.c.replay_of == _requests.id
    unfinished = looked_up(replays, or_(_replay.c.terminal_at.is_(None), _replay.c.terminal_at >= settled_before_us))
    arrived = looked_up(replays, _replay.c.status == str(Status.DELIVERED))
    undecided = or_(_letter.c.discarded_at.is_(None), _letter.c.discarded_at >= settled_before_us)
    own_letter = looked_up(_letter.c.delivery_request_id == _requests.id, undecided)
    later_letter = looked_up(_letter.c.delivery_request_id == _replay.c.id, replays, undecided)
    awaited = looked_up(intents.c.id == _requests.request_id, intents.c.status.not_in(sorted(map(str, ENDED))))
    return and_(
        _requests.created_at < settled_before_us,  # implied by the next line, and the one with an index
        _requests.terminal_at < settled_before_us,
        _requests.status.in_(_SETTLED),
        _requests.replay_of.is_(None),
        not_(unfinished),
        or_(arrived, and_(not_(own_letter), not_(later_letter))),
        not_(awaited),
    )


def count(connection: Connection, settled_before_us: int) -> int:
    replays = _replay.c.replay_of == _requests.id
    made = select(func.count()).select_from(_replay).where(replays).correlate(delivery_requests).scalar_subquery()
    asked = select(func.coalesce(func.sum(1 + made), 0)).select_from(delivery_requests).where(due(settled_before_us))
    return int(connection.execute(asked).scalar_one())


def remove(connection: Connection, settled_before_us: int, limit: int, after: _Place) -> Removed:
    """One transaction; whatever somebody else is working on is left for the next run."""
    asked = (
        select(_requests.created_at, _requests.id)
        .where(due(settled_before_us), tuple_(_requests.created_at, _requests.id) > tuple_(*after))
        .order_by(_requests.created_at, _requests.id)
        .limit(limit)
        .with_for_update(of=delivery_requests, skip_locked=True)
    )
    originals = [(at, one) for at, one in connection.execute(asked)]
    if not originals:
        return Removed(deliveries=0, place=None)
    ids = [one for _, one in originals]
    ids += connection.execute(select(_requests.id).where(_requests.replay_of.in_(ids))).scalars()
    _remove(connection, ids)
    return Removed(deliveries=len(ids), place=originals[-1] if len(originals) == limit else None)


def _remove(connection: Connection, ids: Sequence[str]) -> None:
    """What hangs on a delivery first: the database would otherwise look for it row by row."""
    for table in _NARRATED:
        connection.execute(delete(table).where(table.c.delivery_request_id.in_(ids)))
    connection.execute(delete(pending_actions).where(pending_actions.c.id.in_(ids)))
    connection.execute(delete(delivery_requests).where(_requests.id.in_(ids)))


# -- What else grows without bound once it is over and old: logs, sessions, read notes, ended intents --


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """Rows of one table that nothing needs any more, and whose absence breaks no promise."""

    name: str
    table: Table
    condition: Callable[[Retention], ColumnElement[bool]]
    instead: Callable[[Connection, Retention, int], int] | None = None
    """What is done with rows that stay for longer than what was said in them, or that others go with."""

    def count(self, connection: Connection, retention: Retention) -> int:
        asked = select(func.count()).select_from(self.table).where(self.condition(retention))
        return int(connection.execute(asked).scalar_one())

    def remove(self, connection: Connection, retention: Retention, limit: int) -> int:
        if self.instead is not None:
            return self.instead(connection, retention, limit)
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


def _erase_questions(connection: Connection, keep: Retention, limit: int) -> int:
    return erase_old(connection, ended_before_us=keep.words_before_us, now_us=keep.now_us, limit=limit)


def _erase_inbound(connection: Connection, keep: Retention, limit: int) -> int:
    found = select(inbound_messages.c.id).where(_inbound_words(keep)).limit(limit)
    ids = connection.execute(found.with_for_update(skip_locked=True)).scalars().all()
    connection.execute(update(inbound_messages).where(inbound_messages.c.id.in_(ids)).values(ERASED))
    return len(ids)


def _remove_notices(connection: Connection, keep: Retention, limit: int) -> int:
    """With what the log says of them: acceptances in the log are the notices there are."""
    found = select(notices.c.id).where(_old_notices(keep)).limit(limit)
    ids = connection.execute(found.with_for_update(skip_locked=True)).scalars().all()
    connection.execute(delete(attention_log).where(attention_log.c.notice.in_(ids)))
    connection.execute(delete(notices).where(notices.c.id.in_(ids)))
    return len(ids)


def _old_notices(keep: Retention) -> ColumnElement[bool]:
    """But one whose words have still to be sent: that send has none of its own."""
    send = notice_sends.c
    unsent = looked_up(send.person == notices.c.person, and_(PENDING, send.notice == notices.c.id))
    return and_(CLOSED, notices.c.created_at < keep.settled_before_us, not_(unsent))


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
    return and_(_old_inbound(keep.words_before_us), or_(table.text.is_not(None), table.attachments.is_not(None)))


def _open_intent(intent_id: ColumnElement[Any]) -> ColumnElement[bool]:
    return looked_up(intents.c.id == intent_id, intents.c.status.not_in(sorted(map(str, ENDED))))


def _notes(keep: Retention) -> ColumnElement[bool]:
    """What a person has read, put away or dismissed; an unread note waits for as long as it takes."""
    note, copy = notifications.c, notices.c
    dealt_with = or_(note.read_at.is_not(None), note.archived_at.is_not(None), note.dismissed_at.is_not(None))
    on_its_way = looked_up(copy.id == note.id, copy.open)
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
    Stale(name="words people wrote", table=inbound_messages, condition=_inbound_words, instead=_erase_inbound),
    Stale(
        name="messages people wrote",
        table=inbound_messages,
        condition=lambda keep: _old_inbound(keep.settled_before_us),
    ),
    Stale(name="keys of calls", table=idempotency_keys, condition=_older(idempotency_keys.c.created_at)),
    Stale(
        name="words of questions",
        table=questions,
        condition=lambda keep: old_words(keep.words_before_us),
        instead=_erase_questions,
    ),
    Stale(name="questions", table=questions, condition=lambda keep: old_questions(keep.questions_before_us)),
    Stale(name="notices", table=notices, condition=_old_notices, instead=_remove_notices),
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


_UPLOADS: Final = Stale(name="uploads", table=uploads, condition=_uploads)


# -- The pruner --


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruner:
    """
    Interrupted at any moment, it has done whole batches and nothing by half.

    A batch is as large as some ten milliseconds allow, on this machine and at this
    hour, and is followed by a rest twice as long: nobody waits for the past for
    longer than a moment, and the ledger is busy with it for a third of the time.
    """

    database: Database
    batch: int  # at most
    tell: Callable[[str, int], None]
    rest: Callable[[float], Awaitable[None]] = asyncio.sleep
    files: FolderFiles | None = None

    async def estimate(self, keep: Retention) -> dict[str, int]:
        """How much would go, by kind; changes nothing."""
        read = self.database.read
        counts = {DELIVERIES: await read(lambda c: count(c, keep.settled_before_us))}
        for stale in (*STALE, _UPLOADS):
            counts[stale.name] = await read(partial(stale.count, retention=keep))
        return counts | {FILES: len(await self._orphans(keep.now_us - UPLOAD_LIFE_US))}

    async def prune(self, keep: Retention) -> dict[str, int]:
        done = {DELIVERIES: await self._deliveries(keep)}
        for stale in (*STALE, _UPLOADS):
            done[stale.name] = await self._records(stale, keep)
        return done | {FILES: await self._files(keep.now_us - UPLOAD_LIFE_US)}

    async def _deliveries(self, keep: Retention) -> int:
        total, place, size = 0, START, min(_LEAST, self.batch)
        while True:
            work = partial(remove, settled_before_us=keep.settled_before_us, limit=size, after=place)
            removed, took = await self._batch(work)
            total, size = total + removed.deliveries, fitting(size, took, self.batch)
            self.tell(DELIVERIES, removed.deliveries)
            if removed.place is None:
                return total
            place = removed.place

    async def _records(self, stale: Stale, keep: Retention) -> int:
        total, size = 0, min(_LEAST, self.batch)
        while True:
            removed, took = await self._batch(partial(stale.remove, retention=keep, limit=size))
            if not removed:
                return total
            total, size = total + removed, fitting(size, took, self.batch)
            self.tell(stale.name, removed)

    async def _files(self, before_us: int) -> int:
        """Last of all, and only what no row names; a file that was stored a moment ago may still get its row."""
        if self.files is None:
            return 0
        await self.files.remove_drafts(before_us)
        removed = 0
        for sha in await self._orphans(before_us):
            if not await self.database.read(partial(kept_among, hashes=[sha])):
                removed += await self.files.remove(sha, before_us)
        self.tell(FILES, removed)
        return removed

    async def _orphans(self, before_us: int) -> list[str]:
        there = await self.files.kept_before(before_us) if self.files else []
        orphans: list[str] = []
        for start in range(0, len(there), _AT_ONCE):
            some = there[start : start + _AT_ONCE]
            needed = await self.database.read(partial(kept_among, hashes=some))
            orphans += [sha for sha in some if sha not in needed]
        return orphans

    async def _batch(self, work: Callable[[Connection], Result]) -> tuple[Result, float]:
        began = time.perf_counter()
        result = await self.database.write(work)
        took = time.perf_counter() - began
        await self.rest(_RESTS * took)
        return result, took


def fitting(size: int, took_seconds: float, most: int) -> int:
    """The size of the next batch, from how long this one took."""
    if took_seconds > _LONG_SECONDS:
        return max(min(_LEAST, most), size // 2)
    return min(most, size * 2) if took_seconds < _SHORT_SECONDS else size
