"""Everything said with a person, in one order and in words that people are shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, assert_never

from sqlalchemy import ColumnElement, Connection, Row, Select, Subquery, and_, exists, func, or_, select, tuple_

from postroom.butlers.model import Session
from postroom.conversations.model import (
    HistoryEntry,
    HistoryLine,
    HistoryPart,
    HistoryQuery,
    InboundStatus,
    KeptMessage,
    LineKind,
    PersonHistory,
    RouteKind,
    SentBefore,
    SentToPerson,
    SpokenTurn,
    WordsKept,
    merged,
)
from postroom.conversations.store import inbound_messages, kept_of
from postroom.delivery.store.tables import delivery_receipts, delivery_requests
from postroom.kernel.database.engine import Database, looked_up
from postroom.kernel.values.principal import Role
from postroom.message.delivery import Format, Intent, folded
from postroom.message.inbound import InboundMessage
from postroom.people.model import Person
from postroom.people.store.tables import person_addresses
from postroom.questions.model import Question
from postroom.questions.rules.reading import answer_words
from postroom.questions.rules.words import asked_line, asker_name, one_line
from postroom.questions.store import steps
from postroom.questions.store.tables import presentations, question_people, questions

_MOST_WORDS: Final = 2_000
_MOST_LINE: Final = 300


def line_of(entry: HistoryEntry) -> HistoryLine:
    match entry.what:
        case KeptMessage() as kept:
            return _written(kept, entry.replies)
        case SentToPerson() as sent:
            return _sent(sent)
        case Question() as question:
            return _asked(question)
        case other:
            assert_never(other)


def _written(kept: KeptMessage, replies: tuple[str, ...]) -> HistoryLine:
    message = kept.message
    gone = WordsKept.ERASED if kept.kind is RouteKind.BUTLER else WordsKept.NOT_KEPT
    return HistoryLine(
        kind=LineKind.MESSAGE,
        id=kept.id,
        at_us=kept.received_us,
        channel=message.channel,
        address=message.places[0],
        status=str(kept.status),
        butler=kept.target,
        words=(message.text or "")[:_MOST_WORDS],
        words_kept=gone if message.text is None else WordsKept.KEPT,
        reason=kept.reason,
        session_id=kept.session_id,
        replies=replies,
    )


def _sent(sent: SentToPerson) -> HistoryLine:
    return HistoryLine(
        kind=LineKind.DELIVERY,
        id=sent.id,
        at_us=sent.created_us,
        channel=sent.channel,
        address=sent.address,
        status=sent.status,
        butler=sent.origin_butler,
        subject=sent.subject,
        words=sent.text,
    )


def _asked(question: Question) -> HistoryLine:
    """In one line; the page of the question has the rest. A secret answer is in none."""
    by, answer = question.answered_by, question.answer
    is_shown = answer is not None and not question.wording.secret
    return HistoryLine(
        kind=LineKind.QUESTION,
        id=question.id,
        at_us=question.created_at_us,
        channel=by.channel if by else None,
        address=None,
        status=str(question.status),
        butler=asker_name(question),
        words=asked_line(question, _MOST_LINE),
        words_kept=WordsKept.KEPT if question.wording.question else WordsKept.ERASED,
        reason=question.reason or "",
        answer=one_line(answer_words(question.wording, answer), _MOST_LINE) if answer and is_shown else "",
        answered_by=one_line(by.name, _MOST_LINE) if by else "",
    )


# Everything said with one person, read from where it is kept anyway; each look reads a bounded number of rows.


LOOKED_AT: Final = 10_000
_FIRST_LOOK: Final = 500
_MOST_PLACES: Final = 100
_MOST_TEXT: Final = 2_000
_MOST_REPLIES: Final = 500
Filters = Callable[[Subquery], Sequence[ColumnElement[bool]]]
_in, _out, _asks, _cards = inbound_messages.c, delivery_requests.c, question_people.c, presentations.c


class Histories:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, person: Person, wanted: HistoryQuery) -> PersonHistory:
        found, before = merged(await self.parts(person, wanted), wanted.limit)
        return PersonHistory(lines=[line_of(one) for one in found], before=before)

    async def parts(self, person: Person, wanted: HistoryQuery) -> Sequence[HistoryPart]:
        """Each source by itself, with how far down it was read."""

        def work(connection: Connection) -> list[HistoryPart]:
            places = _places(connection, person.id, wanted.channel)
            return [
                *_history_written(connection, person.id, places, wanted),
                _history_sent(connection, person, places, wanted),
                _history_asked(connection, person.id, wanted),
            ]

        return await self._database.read(work)


def _history_written(
    connection: Connection, person: str, places: Sequence[tuple[str, str]], wanted: HistoryQuery
) -> Iterator[HistoryPart]:
    """Place by place, because the indexes of messages are in order within a place only."""
    for channel, place in places:
        here = [_in.person == person, _in.channel == channel, _in.place == place, *_below(_in.id, wanted)]
        if wanted.butler is not None:
            here.append(_in.target == wanted.butler)
        ids, floor = _ids(connection, select(_in.id).where(*here), _in.id, lambda _: [], wanted)
        yield HistoryPart(entries=messages_of(connection, ids), floor=floor)


def _places(connection: Connection, person: str, channel: str | None) -> list[tuple[str, str]]:
    """Where the person ever wrote; each step is one look into the index."""
    found: list[tuple[str, str]] = []
    place = tuple_(_in.channel, _in.place)
    mine = select(_in.channel, _in.place).where(_in.person == person).order_by(_in.channel, _in.place).limit(1)
    mine = mine if channel is None else mine.where(_in.channel == channel)
    while len(found) < _MOST_PLACES:
        row = connection.execute(mine.where(place > found[-1]) if found else mine).first()
        if row is None:
            break
        found.append((row.channel, row.place))
    return found


def _history_sent(
    connection: Connection, person: Person, places: Sequence[tuple[str, str]], wanted: HistoryQuery
) -> HistoryPart:
    """
    To the person's addresses, or in answer to them in a place of others; cards stand as their questions.

    What was sent to neither is told by its own row: for everybody else's messages nothing is looked up.
    """
    columns = (_out.id, _out.order_key, _out.channel, _out.address, _out.origin_butler, _out.request_id)
    looked = select(*columns).where(*_below(_out.id, wanted))
    if wanted.channel is not None:
        looked = looked.where(_out.channel == wanted.channel)

    def filters(newest: Subquery) -> list[ColumnElement[bool]]:
        one, asked = newest.c, _in.id == newest.c.request_id
        theirs = one.order_key.in_([f"{each.channel}:{folded(each.address)}" for each in person.addresses])
        mine = (asked, _in.person == person.id, _in.channel == one.channel, _in.place == one.address)
        here = and_(one.address.in_([place for _, place in places]), looked_up(*mine))
        found = [or_(theirs, here), ~_is_card(newest)]
        if wanted.butler is not None:
            found.append(or_(one.origin_butler == wanted.butler, looked_up(asked, _in.target == wanted.butler)))
        return found

    ids, floor = _ids(connection, looked, _out.id, filters, wanted)
    return HistoryPart(entries=deliveries_of(connection, ids), floor=floor)


def _is_card(newest: Subquery) -> ColumnElement[bool]:
    """The card of a question, or what it was changed into."""
    return looked_up(_cards.id == newest.c.request_id)


def _history_asked(connection: Connection, person: str, wanted: HistoryQuery) -> HistoryPart:
    looked = select(_asks.question_id.label("id")).where(_asks.person_id == person, *_below(_asks.question_id, wanted))

    def filters(newest: Subquery) -> list[ColumnElement[bool]]:
        found: list[ColumnElement[bool]] = []
        if wanted.channel is not None:
            shown = (_cards.question_id == newest.c.id, _cards.person_id == person, _cards.channel == wanted.channel)
            found.append(looked_up(*shown))
        if wanted.butler is not None:
            askers = [f"{role}:{wanted.butler}" for role in Role]
            found.append(looked_up(questions.c.id == newest.c.id, questions.c.asker.in_(askers)))
        return found

    ids, floor = _ids(connection, looked, _asks.question_id, filters, wanted)
    return HistoryPart(entries=questions_of(connection, ids), floor=floor)


def _below(column: ColumnElement[str], wanted: HistoryQuery) -> list[ColumnElement[bool]]:
    return [] if wanted.before is None else [column < wanted.before]


def _ids(
    connection: Connection, looked: Select[Any], by: ColumnElement[str], filters: Filters, wanted: HistoryQuery
) -> tuple[list[str], str | None]:
    """
    With the id down to which everything that matches is among them; None when that is the end.

    Whoever was much spoken with is found among the newest few, and no more is read then.
    """
    found, lowest = list[str](), None
    for most in sorted({min(_FIRST_LOOK, LOOKED_AT), LOOKED_AT}):
        newest = looked.order_by(by.desc()).limit(most).subquery("newest")
        asked = select(newest.c.id).where(*filters(newest)).order_by(newest.c.id.desc()).limit(wanted.limit + 1)
        found = list(connection.execute(asked).scalars())
        if len(found) > wanted.limit:
            return found[:-1], found[-2]
        many, lowest = connection.execute(select(func.count(), func.min(newest.c.id))).one()
        if many < most:
            return found, None
    return found, lowest


def messages_of(connection: Connection, ids: Sequence[str]) -> list[HistoryEntry]:
    rows = connection.execute(select(inbound_messages).where(_in.id.in_(ids))).all() if ids else []
    replies = _replies(connection, ids)
    return [
        HistoryEntry(
            id=row.id,
            what=kept_of(row),
            replies=tuple(
                one.id
                for one in replies
                if one.request_id == row.id and one.channel == row.channel and one.address in json.loads(row.places)
            ),
        )
        for row in rows
    ]


def _replies(connection: Connection, ids: Sequence[str]) -> Sequence[Any]:
    columns = (_out.id, _out.request_id, _out.channel, _out.address)
    asked = select(*columns).where(_out.request_id.in_(ids)).order_by(_out.id).limit(_MOST_REPLIES)
    return connection.execute(asked).all() if ids else []


def deliveries_of(connection: Connection, ids: Sequence[str]) -> list[HistoryEntry]:
    said = func.substr(func.coalesce(func.nullif(_out.message_content, ""), _out.emoji, ""), 1, _MOST_TEXT)
    columns = (_out.id, _out.channel, _out.address, _out.status, _out.origin_butler, _out.subject)
    asked = select(*columns, said.label("text"), _out.created_at.label("created_us")).where(_out.id.in_(ids))
    rows = connection.execute(asked).mappings() if ids else ()
    return [HistoryEntry(id=row["id"], what=SentToPerson(**row)) for row in rows]


def questions_of(connection: Connection, ids: Sequence[str]) -> list[HistoryEntry]:
    found = steps.found(connection, select(questions).where(questions.c.id.in_(ids))) if ids else []
    return [HistoryEntry(id=one.id, what=one) for one in found]


# With whom something was said lately, and the last of it: among the newest rows of each source, and no further.


_LOOKED_AT: Final = 2_000


class Lately:
    """`book` is whose people are meant."""

    def __init__(self, database: Database, book: str) -> None:
        self._database = database
        self._book = book

    async def last(self, limit: int) -> Mapping[str, HistoryLine]:
        """By person, those of the newest entry first."""
        found = await self._database.read(lambda connection: _last(connection, self._book, limit))
        return {person: line_of(entry) for person, entry in found.items()}


def _last(connection: Connection, book: str, limit: int) -> dict[str, HistoryEntry]:
    newest: dict[str, str] = {}
    for found in (_lately_written(connection), _lately_sent(connection, book), _lately_asked(connection)):
        for person, entry_id in found.items():
            newest[person] = max(entry_id, newest.get(person, ""))
    chosen = sorted(newest.items(), key=lambda one: one[1], reverse=True)[:limit]
    entries = _entries(connection, [entry_id for _, entry_id in chosen])
    return {person: entries[entry_id] for person, entry_id in chosen if entry_id in entries}


def _entries(connection: Connection, ids: list[str]) -> dict[str, HistoryEntry]:
    found = (*messages_of(connection, ids), *deliveries_of(connection, ids), *questions_of(connection, ids))
    return {one.id: one for one in found}


def _newest(by: ColumnElement[str], *columns: ColumnElement[Any]) -> Subquery:
    return select(by.label("id"), *columns).order_by(by.desc()).limit(_LOOKED_AT).subquery("newest")


def _lately_written(connection: Connection) -> dict[str, str]:
    newest = _newest(inbound_messages.c.id, inbound_messages.c.person)
    asked = select(newest.c.person, func.max(newest.c.id)).where(newest.c.person.is_not(None))
    return _pairs(connection, asked.group_by(newest.c.person))


def _lately_sent(connection: Connection, book: str) -> dict[str, str]:
    """Whose the addresses are is looked up by the index of addresses, with the channel compared afterwards."""
    newest = _newest(delivery_requests.c.id, delivery_requests.c.order_key)
    asked = select(newest.c.order_key, func.max(newest.c.id)).group_by(newest.c.order_key)
    lasts = _pairs(connection, asked)
    theirs = person_addresses.c
    owned = select(theirs.person_id, theirs.channel, theirs.folded).where(
        theirs.owner_agent == book, theirs.folded.in_([key.partition(":")[2] for key in lasts])
    )
    found: dict[str, str] = {}
    for row in connection.execute(owned):
        if last := lasts.get(f"{row.channel}:{row.folded}"):
            found[row.person_id] = max(last, found.get(row.person_id, ""))
    return found


def _lately_asked(connection: Connection) -> dict[str, str]:
    newest = _newest(question_people.c.question_id, question_people.c.person_id)
    return _pairs(connection, select(newest.c.person_id, func.max(newest.c.id)).group_by(newest.c.person_id))


def _pairs(connection: Connection, asked: Select[Any]) -> dict[str, str]:
    return {row[0]: row[1] for row in connection.execute(asked)}


# What was said in a conversation: read from the messages that came in and the ledger of those that went out.


_said_in, _said_out = inbound_messages.c, delivery_requests.c
_SAID_LOOKED_AT: Final = 20_000
_SPOKEN = _said_out.intent.in_([str(Intent.SEND), str(Intent.REPLY)])


class StoredTalk:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def replied(self, message_id: str) -> bool:
        """Whether the butler's own answer, in the place where the message was written, is in the ledger."""
        asked = select(_said_in.target, _said_in.channel, _said_in.places).where(_said_in.id == message_id)

        def work(connection: Connection) -> bool:
            row = connection.execute(asked).first()
            if row is None:
                return False
            here = and_(_said_out.channel == row.channel, _said_out.address.in_(json.loads(row.places)))
            own = and_(_said_out.request_id == message_id, _said_out.origin_butler == row.target, _SPOKEN)
            return bool(connection.execute(select(exists().where(here, own))).scalar())

        return await self._database.read(work)

    async def is_over(self, session: Session) -> bool:
        """Whether the message that a session is for is answered by it already, or stopped."""
        asked = select(_said_in.status).where(_said_in.id == session.request_id)
        status = await self._database.read(lambda connection: connection.execute(asked).scalar())
        if status is None:
            return False
        return status == str(InboundStatus.STOPPED) or await self.replied(session.request_id or "")

    async def turns(self, kept: KeptMessage, limit: int) -> Sequence[SpokenTurn]:
        person, channel, place = kept.conversation
        earlier = (
            select(_said_in.id, _said_in.text, _said_in.received_at)
            .where(
                _said_in.person == person, _said_in.channel == channel, _said_in.place == place, _said_in.id < kept.id
            )
            .where(_said_in.kind == str(RouteKind.BUTLER), _said_in.text.is_not(None))
            .order_by(_said_in.id.desc())
            .limit(limit)
        )

        def work(connection: Connection) -> list[SpokenTurn]:
            asked = list(connection.execute(earlier))
            said = [SpokenTurn(by="person", text=row.text, at_us=row.received_at) for row in asked]
            said += _answers(connection, [row.id for row in asked], channel, list(kept.message.places))
            return sorted(said, key=lambda one: one.at_us)[-limit:]

        return await self._database.read(work)

    async def replied_to(self, message: InboundMessage) -> SentBefore | None:
        """The message of ours that this one replies to."""
        if not (message.replies_to or message.answers):
            return None
        newest, received = _said_newest(message.channel), delivery_receipts.c
        there = or_(newest.c.address.in_(message.places), received.conversation.in_(message.places))
        named = or_(received.provider_delivery_id == message.replies_to, newest.c.id == message.answers)
        return await self._sent(newest, there, named)

    async def last_sent(self, message: InboundMessage, besides: Collection[str]) -> SentBefore | None:
        """The last that was said where this one was written, by others than these."""
        newest, received = _said_newest(message.channel), delivery_receipts.c
        there = or_(newest.c.address.in_(message.places), received.conversation.in_(message.places))
        return await self._sent(newest, there, newest.c.origin_butler.not_in(besides))

    async def _sent(self, newest: Subquery, *wanted: ColumnElement[bool]) -> SentBefore | None:
        asked = (
            select(newest, _said_in.target)
            .join(delivery_receipts, delivery_receipts.c.delivery_request_id == newest.c.id)
            .join(inbound_messages, _said_in.id == newest.c.request_id, isouter=True)
            .where(*wanted)
            .order_by(newest.c.id.desc())
            .limit(1)
        )

        def work(connection: Connection) -> SentBefore | None:
            row = connection.execute(asked).first()
            return None if row is None else _sent_before(row)

        return await self._database.read(work)


def _said_newest(channel: str) -> Subquery:
    """Among these we look, for receipts have no index by the provider's names."""
    return (
        select(
            _said_out.id,
            _said_out.address,
            _said_out.origin_butler,
            _said_out.request_id,
            _said_out.message_content,
            _said_out.format,
            _said_out.subject,
            _said_out.created_at,
        )
        .where(_said_out.channel == channel, _SPOKEN)
        .order_by(_said_out.id.desc())
        .limit(_SAID_LOOKED_AT)
        .subquery("newest")
    )


def _sent_before(row: Row[Any]) -> SentBefore:
    return SentBefore(
        id=row.id,
        by=row.target or row.origin_butler,
        address=row.address,
        text=row.message_content,
        format=Format(row.format or Format.PLAIN),
        subject=row.subject,
        at_us=row.created_at,
    )


def _answers(connection: Connection, ids: list[str], channel: str, places: list[Any]) -> list[SpokenTurn]:
    asked = select(_said_out.origin_butler, _said_out.message_content, _said_out.created_at).where(
        _said_out.request_id.in_(ids), _said_out.channel == channel, _said_out.address.in_(places), _SPOKEN
    )
    return [
        SpokenTurn(by=row.origin_butler, text=row.message_content, at_us=row.created_at)
        for row in connection.execute(asked)
    ]
