"""Telegram messages, reactions and pressed buttons, and the updates the bot has not fetched yet."""

# ruff: noqa: S608 - only column names and clauses of this file are put together; every value is bound

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection
from typing import Any

from postroom.programs.sandbox.ledger_file import LedgerFile
from postroom.programs.sandbox.records import Callback, Reaction, TelegramMessage

TELEGRAM_TABLES = """
create table if not exists telegram_messages (
    message_id integer primary key autoincrement,
    chat_id text not null,
    text text not null,
    date_us integer not null,
    from_person integer not null,
    from_name text,
    reply_to_message_id integer,
    parse_mode text,
    reply_markup text
);
create index if not exists telegram_messages_of_chat on telegram_messages (chat_id, message_id);
create table if not exists telegram_edits (
    edit_id integer primary key autoincrement,
    message_id integer not null,
    earlier_text text not null
);
create index if not exists telegram_edits_of_message on telegram_edits (message_id);
create table if not exists telegram_reactions (
    reaction_id integer primary key autoincrement,
    chat_id text not null,
    message_id integer not null,
    emoji text,
    from_person integer not null,
    date_us integer not null,
    current integer not null
);
create index if not exists telegram_reactions_of_message on telegram_reactions (message_id) where current;
create table if not exists telegram_callbacks (
    callback_id integer primary key autoincrement,
    chat_id text not null,
    message_id integer not null,
    data text not null,
    date_us integer not null,
    answer text,
    answered_us integer
);
create table if not exists telegram_updates (
    update_id integer primary key autoincrement,
    kind text not null,
    payload text not null
);
"""

_MESSAGE = (
    "message_id, chat_id, text, date_us, from_person, from_name, reply_to_message_id, parse_mode, reply_markup,"
    " (select json_group_array(emoji) from telegram_reactions r"
    "  where r.message_id = m.message_id and current and emoji is not null),"
    " (select json_group_array(earlier_text) from"
    "  (select earlier_text from telegram_edits e where e.message_id = m.message_id order by edit_id))"
)
_REACTION = "reaction_id, chat_id, message_id, emoji, from_person, date_us"
_CALLBACK = "callback_id, chat_id, message_id, data, date_us, answer, answered_us"

Announce = Callable[[Any], tuple[str, dict[str, Any]]]


class TelegramLedger:
    def __init__(self, file: LedgerFile) -> None:
        self._file = file

    def keep(
        self,
        *,
        chat_id: str,
        text: str,
        now_us: int,
        reply_to: int | None = None,
        parse_mode: str | None = None,
        reply_markup: str | None = None,
        from_person: bool = False,
        from_name: str | None = None,
        announce: Announce | None = None,
    ) -> TelegramMessage:
        """`announce` turns the kept message into the update the bot will fetch, in the same transaction."""
        with self._file.writing() as connection:
            cursor = connection.execute(
                "insert into telegram_messages (chat_id, text, date_us, from_person, from_name, reply_to_message_id,"
                " parse_mode, reply_markup) values (?, ?, ?, ?, ?, ?, ?, ?)",
                (chat_id, text, now_us, from_person, from_name, reply_to, parse_mode, reply_markup),
            )
            message = _message_by_id(connection, chat_id, cursor.lastrowid or 0)
            assert message is not None  # noqa: S101 - inserted two lines above, in this transaction
            _announce(connection, announce, message)
        return message

    def message(self, chat_id: str, message_id: int) -> TelegramMessage | None:
        with self._file.reading() as connection:
            return _message_by_id(connection, chat_id, message_id)

    def messages(
        self, *, from_person: bool | None, chat_id: str | None, since: int | None, limit: int
    ) -> list[TelegramMessage]:
        """Oldest first: the ones after `since`, or else the newest."""
        order = "desc" if since is None else "asc"
        where, values = _message_filter(from_person, chat_id, since)
        statement = f"select {_MESSAGE} from telegram_messages m where {where} order by message_id {order} limit ?"
        with self._file.reading() as connection:
            rows = connection.execute(statement, (*values, limit)).fetchall()
        return [_message(row) for row in (reversed(rows) if since is None else rows)]

    def count(self, *, from_person: bool | None, chat_id: str | None, since: int | None) -> int:
        where, values = _message_filter(from_person, chat_id, since)
        with self._file.reading() as connection:
            row = connection.execute(f"select count(*) from telegram_messages m where {where}", values).fetchone()
        return int(row[0])

    def edit(self, message: TelegramMessage, text: str, reply_markup: str | None) -> TelegramMessage:
        with self._file.writing() as connection:
            connection.execute(
                "insert into telegram_edits (message_id, earlier_text) values (?, ?)",
                (message.message_id, message.text),
            )
            connection.execute(
                "update telegram_messages set text = ?, reply_markup = ? where message_id = ?",
                (text, reply_markup, message.message_id),
            )
            edited = _message_by_id(connection, message.chat_id, message.message_id)
        return edited or message

    def react(
        self,
        message: TelegramMessage,
        emoji: str | None,
        *,
        from_person: bool,
        now_us: int,
        announce: Announce | None = None,
    ) -> Reaction:
        """Replaces what the same side had set before; every tap stays on record."""
        with self._file.writing() as connection:
            connection.execute(
                "update telegram_reactions set current = 0 where message_id = ? and from_person = ? and current",
                (message.message_id, from_person),
            )
            cursor = connection.execute(
                "insert into telegram_reactions (chat_id, message_id, emoji, from_person, date_us, current)"
                " values (?, ?, ?, ?, ?, 1)",
                (message.chat_id, message.message_id, emoji, from_person, now_us),
            )
            reaction = Reaction(
                reaction_id=cursor.lastrowid or 0,
                chat_id=message.chat_id,
                message_id=message.message_id,
                emoji=emoji,
                from_person=from_person,
                date_us=now_us,
            )
            _announce(connection, announce, reaction)
        return reaction

    def reaction_of(self, message_id: int, *, from_person: bool) -> str | None:
        statement = "select emoji from telegram_reactions where message_id = ? and from_person = ? and current"
        with self._file.reading() as connection:
            row = connection.execute(statement, (message_id, from_person)).fetchone()
        return None if row is None else row[0]

    def reactions(self, *, chat_id: str | None, since: int | None, limit: int) -> list[Reaction]:
        of_chat, values = ("", ()) if chat_id is None else (" and chat_id = ?", (chat_id,))
        statement = (
            f"select {_REACTION} from telegram_reactions where reaction_id > ?{of_chat}"
            f" order by reaction_id {'desc' if since is None else 'asc'} limit ?"
        )
        with self._file.reading() as connection:
            rows = connection.execute(statement, (since or 0, *values, limit)).fetchall()
        return [_reaction(row) for row in (reversed(rows) if since is None else rows)]

    def press(self, message: TelegramMessage, data: str, *, now_us: int, announce: Announce) -> Callback:
        with self._file.writing() as connection:
            cursor = connection.execute(
                "insert into telegram_callbacks (chat_id, message_id, data, date_us) values (?, ?, ?, ?)",
                (message.chat_id, message.message_id, data, now_us),
            )
            callback = Callback(
                callback_id=cursor.lastrowid or 0,
                chat_id=message.chat_id,
                message_id=message.message_id,
                data=data,
                date_us=now_us,
            )
            _announce(connection, announce, callback)
        return callback

    def answer_callback(self, callback_id: int, text: str, *, now_us: int) -> bool:
        """False when nobody pressed that button, or it was answered before."""
        statement = (
            "update telegram_callbacks set answer = ?, answered_us = ? where callback_id = ? and answered_us is null"
        )
        with self._file.writing() as connection:
            return connection.execute(statement, (text, now_us, callback_id)).rowcount == 1

    def callbacks(self, *, since: int | None, limit: int) -> list[Callback]:
        statement = (
            f"select {_CALLBACK} from telegram_callbacks where callback_id > ?"
            f" order by callback_id {'desc' if since is None else 'asc'} limit ?"
        )
        with self._file.reading() as connection:
            rows = connection.execute(statement, (since or 0, limit)).fetchall()
        return [_callback(row) for row in (reversed(rows) if since is None else rows)]

    def updates(self, *, offset: int, limit: int, kinds: Collection[str]) -> list[dict[str, Any]]:
        """A positive offset confirms everything before it; a negative one keeps only that many from the end."""
        with self._file.writing() as connection:
            if offset < 0:
                connection.execute(
                    "delete from telegram_updates where update_id not in"
                    " (select update_id from telegram_updates order by update_id desc limit ?)",
                    (-offset,),
                )
            elif offset > 0:
                connection.execute("delete from telegram_updates where update_id < ?", (offset,))
            marks = ", ".join("?" * len(kinds))
            rows = connection.execute(
                f"select update_id, kind, payload from telegram_updates where kind in ({marks})"
                " order by update_id limit ?",
                (*kinds, limit),
            ).fetchall()
        return [{"update_id": update_id, kind: json.loads(payload)} for update_id, kind, payload in rows]

    def clear(self, connection: sqlite3.Connection) -> None:
        for table in ("messages", "edits", "reactions", "callbacks", "updates"):
            connection.execute(f"delete from telegram_{table}")


def _message_filter(from_person: bool | None, chat_id: str | None, since: int | None) -> tuple[str, tuple[Any, ...]]:
    conditions: list[tuple[str, Any]] = [("message_id > ?", since or 0)]
    if from_person is not None:
        conditions.append(("from_person = ?", from_person))
    if chat_id is not None:
        conditions.append(("chat_id = ?", chat_id))
    return " and ".join(text for text, _ in conditions), tuple(value for _, value in conditions)


def _announce(connection: sqlite3.Connection, announce: Announce | None, record: Any) -> None:
    if announce is not None:
        kind, payload = announce(record)
        connection.execute("insert into telegram_updates (kind, payload) values (?, ?)", (kind, json.dumps(payload)))


def _message_by_id(connection: sqlite3.Connection, chat_id: str, message_id: int) -> TelegramMessage | None:
    row = connection.execute(
        f"select {_MESSAGE} from telegram_messages m where message_id = ? and chat_id = ?", (message_id, chat_id)
    ).fetchone()
    return None if row is None else _message(row)


def _message(row: tuple[Any, ...]) -> TelegramMessage:
    return TelegramMessage(
        message_id=row[0],
        chat_id=row[1],
        text=row[2],
        date_us=row[3],
        from_person=bool(row[4]),
        from_name=row[5],
        reply_to_message_id=row[6],
        parse_mode=row[7],
        reply_markup=row[8],
        reactions=tuple(json.loads(row[9])),
        earlier_texts=tuple(json.loads(row[10])),
    )


def _reaction(row: tuple[Any, ...]) -> Reaction:
    return Reaction(
        reaction_id=row[0],
        chat_id=row[1],
        message_id=row[2],
        emoji=row[3],
        from_person=bool(row[4]),
        date_us=row[5],
    )


def _callback(row: tuple[Any, ...]) -> Callback:
    return Callback(
        callback_id=row[0],
        chat_id=row[1],
        message_id=row[2],
        data=row[3],
        date_us=row[4],
        answer=row[5],
        answered_us=row[6],
    )
