"""The messages of one face, in a file: sent, typed, edited, deleted, reacted to."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any, Final

from postroom.sandbox.ledger import LedgerFile
from tests.fakes.record import FaceMessage

KEPT_MESSAGES: Final = 10_000

FACE_TABLES: Final = """
create table if not exists face_messages (
    number integer primary key autoincrement,
    face text not null,
    place text not null,
    message_id text not null,
    text text not null,
    body text not null,
    from_person integer not null,
    author text not null,
    thread text,
    earlier text not null default '[]',
    reactions text not null default '[]',
    is_deleted integer not null default 0,
    at_us integer not null
);
create index if not exists face_messages_by_id on face_messages (face, message_id);
"""
_COLUMNS: Final = (
    "number, place, message_id, text, body, from_person, author, thread, earlier, reactions, is_deleted, at_us"
)


class FaceLedger:
    def __init__(self, file: LedgerFile, face: str) -> None:
        self._file = file
        self._face = face

    def keep(
        self,
        *,
        place: str,
        text: str,
        body: Mapping[str, Any],
        name: Callable[[int], str],
        now_us: int,
        from_person: bool = False,
        author: str = "",
        thread: str | None = None,
    ) -> FaceMessage:
        """`name` makes the message's id, as the service writes one, from its number."""
        with self._file.writing() as connection:
            (number,) = connection.execute(
                "insert into face_messages (face, place, message_id, text, body, from_person, author, thread, at_us)"
                " values (?, ?, '', ?, ?, ?, ?, ?, ?) returning number",
                (self._face, place, text, json.dumps(body), from_person, author, thread, now_us),
            ).fetchone()
            connection.execute("update face_messages set message_id = ? where number = ?", (name(number), number))
            connection.execute("delete from face_messages where number <= ?", (number - KEPT_MESSAGES,))
            return _one(connection, number)

    def edit(self, message: FaceMessage, text: str, body: Mapping[str, Any]) -> FaceMessage:
        earlier = json.dumps([*message.earlier, message.text] if text != message.text else list(message.earlier))
        return self._change(message, "text = ?, body = ?, earlier = ?", (text, json.dumps(body), earlier))

    def delete(self, message: FaceMessage) -> FaceMessage:
        return self._change(message, "is_deleted = ?", (1,))

    def react(self, message: FaceMessage, reactions: list[str]) -> FaceMessage:
        return self._change(message, "reactions = ?", (json.dumps(reactions),))

    def find(self, message_id: str, place: str | None = None) -> FaceMessage | None:
        """The newest of that name, in that place or anywhere; a deleted one is gone."""
        statement = (
            f"select {_COLUMNS} from face_messages where face = ? and message_id = ? and (? is null or place = ?)"
            " and is_deleted = 0 order by number desc limit 1"
        )
        with self._file.reading() as connection:
            row = connection.execute(statement, (self._face, message_id, place, place)).fetchone()
        return _message(row) if row else None

    def messages(
        self, *, from_person: bool | None = None, place: str | None = None, since: int | None = None, limit: int = 1000
    ) -> list[FaceMessage]:
        """Oldest first: the ones after `since`, or else the newest."""
        order = "desc" if since is None else "asc"
        statement = (
            f"select {_COLUMNS} from face_messages where face = ? and (? is null or from_person = ?)"
            f" and (? is null or place = ?) and number > ? order by number {order} limit ?"
        )
        values = (self._face, from_person, from_person, place, place, since or 0, limit)
        with self._file.reading() as connection:
            found = [_message(row) for row in connection.execute(statement, values)]
        return found[::-1] if since is None else found

    def in_thread(self, place: str, thread: str) -> list[FaceMessage]:
        """Oldest first."""
        statement = f"select {_COLUMNS} from face_messages where face = ? and place = ? and thread = ? order by number"
        with self._file.reading() as connection:
            return [_message(row) for row in connection.execute(statement, (self._face, place, thread))]

    def _change(self, message: FaceMessage, sets: str, values: tuple[Any, ...]) -> FaceMessage:
        with self._file.writing() as connection:
            connection.execute(f"update face_messages set {sets} where number = ?", (*values, message.number))
            return _one(connection, message.number)


def _one(connection: sqlite3.Connection, number: int) -> FaceMessage:
    found = connection.execute(f"select {_COLUMNS} from face_messages where number = ?", (number,))
    return _message(found.fetchone())


def _message(row: tuple[Any, ...]) -> FaceMessage:
    number, place, message_id, text, body, from_person, author, thread, earlier, reactions, is_deleted, at_us = row
    return FaceMessage(
        number=number,
        place=place,
        message_id=message_id,
        text=text,
        body=json.loads(body),
        from_person=bool(from_person),
        author=author,
        thread=thread,
        earlier=tuple(json.loads(earlier)),
        reactions=tuple(json.loads(reactions)),
        is_deleted=bool(is_deleted),
        at_us=at_us,
    )
