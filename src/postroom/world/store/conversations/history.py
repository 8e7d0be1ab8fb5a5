"""Everything said with one person, read from where it is kept anyway; each look reads a bounded number of rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, Subquery, and_, func, or_, select, tuple_

from postroom.domain.address_folding import folded
from postroom.domain.person import Person
from postroom.domain.person_history import HistoryEntry, HistoryPart, HistoryQuery, SentToPerson
from postroom.domain.principal import Role
from postroom.world.store.conversations.inbound import kept_of
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.looked_up import looked_up
from postroom.world.store.questions import steps
from postroom.world.store.tables.conversations import inbound_messages
from postroom.world.store.tables.deliveries import delivery_requests
from postroom.world.store.tables.questions import presentations, question_people, questions

LOOKED_AT: Final = 10_000
_FIRST_LOOK: Final = 500
_MOST_PLACES: Final = 100
_MOST_TEXT: Final = 2_000
_MOST_REPLIES: Final = 500
_OF_CARD: Final = "ask:"
Filters = Callable[[Subquery], Sequence[ColumnElement[bool]]]
_in, _out, _asks, _cards = inbound_messages.c, delivery_requests.c, question_people.c, presentations.c


class StoredPersonHistory:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def parts(self, person: Person, wanted: HistoryQuery) -> Sequence[HistoryPart]:
        """Each source by itself, with how far down it was read."""

        def work(connection: Connection) -> list[HistoryPart]:
            places = _places(connection, person.id, wanted.channel)
            return [
                *_written(connection, person.id, places, wanted),
                _sent(connection, person, places, wanted),
                _asked(connection, person.id, wanted),
            ]

        return await self._database.read(work)


def _written(
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


def _sent(
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
    request_id = newest.c.request_id
    named = _cards.id == func.substr(request_id, len(_OF_CARD) + 1)
    return and_(request_id.startswith(_OF_CARD), looked_up(named))


def _asked(connection: Connection, person: str, wanted: HistoryQuery) -> HistoryPart:
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
