"""With whom something was said lately, and the last of it: among the newest rows of each source, and no further."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, Subquery, func, select

from postroom.domain.person_history import HistoryEntry
from postroom.world.store.conversations.history import deliveries_of, messages_of, questions_of
from postroom.world.store.engine.database import Database
from postroom.world.store.tables.conversations import inbound_messages
from postroom.world.store.tables.deliveries import delivery_requests
from postroom.world.store.tables.people import person_addresses
from postroom.world.store.tables.questions import question_people

_LOOKED_AT: Final = 2_000


class StoredLately:
    """`book` is whose people are meant."""

    def __init__(self, database: Database, book: str) -> None:
        self._database = database
        self._book = book

    async def last(self, limit: int) -> Mapping[str, HistoryEntry]:
        """By person, those of the newest entry first."""
        return await self._database.read(lambda connection: _last(connection, self._book, limit))


def _last(connection: Connection, book: str, limit: int) -> dict[str, HistoryEntry]:
    newest: dict[str, str] = {}
    for found in (_written(connection), _sent(connection, book), _asked(connection)):
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


def _written(connection: Connection) -> dict[str, str]:
    newest = _newest(inbound_messages.c.id, inbound_messages.c.person)
    asked = select(newest.c.person, func.max(newest.c.id)).where(newest.c.person.is_not(None))
    return _pairs(connection, asked.group_by(newest.c.person))


def _sent(connection: Connection, book: str) -> dict[str, str]:
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


def _asked(connection: Connection) -> dict[str, str]:
    newest = _newest(question_people.c.question_id, question_people.c.person_id)
    return _pairs(connection, select(newest.c.person_id, func.max(newest.c.id)).group_by(newest.c.person_id))


def _pairs(connection: Connection, asked: Select[Any]) -> dict[str, str]:
    return {row[0]: row[1] for row in connection.execute(asked)}
