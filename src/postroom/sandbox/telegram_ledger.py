"""What the sandbox's phone shows: messages, edits, reactions, pressed buttons; and the updates waiting for the bot."""

from __future__ import annotations

import json
import sqlite3
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from postroom.kernel.http.answers import JsonBody
from postroom.kernel.values.ids import seconds
from postroom.sandbox.records import (
    Callback,
    Edit,
    LedgerFile,
    Reaction,
    SandboxFile,
    TelegramMessage,
    files_of_text,
    files_text,
)

# Updates the bot has not fetched yet.
#
# As at Telegram, a pressed button waits 150 seconds and everything else a day; an offset confirms all before it, and
# one that lies beyond the end of the queue confirms nothing, because numbers start anew after a quiet week.

UPDATE_TABLES: Final = """
create table if not exists telegram_updates (
    update_id integer primary key autoincrement,
    kind text not null,
    payload text not null
);
"""
UPDATE_COLUMNS: Final = (
    ("telegram_updates", "expires_us", "integer"),
    ("telegram_updates", "bot", "text not null default ''"),
)
_PRESS_LIVES_SECONDS: Final = 150
_UPDATE_LIVES_SECONDS: Final = 86_400
MOST_WAITING: Final = 10_000

_Announce = Callable[[Any], tuple[str, JsonBody]]


class UpdateQueue:
    def __init__(self, file: LedgerFile) -> None:
        self._file = file

    def fetch(self, *, offset: int, limit: int, kinds: Collection[str], now_us: int, bot: str = "") -> list[JsonBody]:
        """A positive offset confirms everything before it; a negative one keeps only that many from the end."""
        with self._file.writing() as connection:
            connection.execute("delete from telegram_updates where expires_us <= ?", (now_us,))
            if offset < 0:
                _keep_newest(connection, -offset, bot)
            elif 0 < offset <= _last(connection) + 1:
                connection.execute("delete from telegram_updates where update_id < ? and bot = ?", (offset, bot))
            marks = ", ".join("?" * len(kinds))
            rows = connection.execute(
                f"select update_id, kind, payload from telegram_updates where kind in ({marks})"
                " and bot = ? order by update_id limit ?",
                (*kinds, bot, limit),
            ).fetchall()
        return [{"update_id": update_id, kind: json.loads(payload)} for update_id, kind, payload in rows]

    def age(self, by_seconds: float) -> None:
        """As if the bot had not asked for so long."""
        with self._file.writing() as connection:
            connection.execute("update telegram_updates set expires_us = expires_us - ?", (seconds(by_seconds),))
            connection.execute("update telegram_callbacks set date_us = date_us - ?", (seconds(by_seconds),))


def _put(connection: sqlite3.Connection, announce: _Announce | None, record: Any, now_us: int, bot: str = "") -> None:
    """`announce` turns what was kept into the update the bot will fetch, in the same transaction."""
    if announce is None:
        return
    kind, payload = announce(record)
    lives = _PRESS_LIVES_SECONDS if kind == "callback_query" else _UPDATE_LIVES_SECONDS
    cursor = connection.execute(
        "insert into telegram_updates (kind, payload, expires_us, bot) values (?, ?, ?, ?)",
        (kind, json.dumps(payload), now_us + seconds(lives), bot),
    )
    oldest = (cursor.lastrowid or 0) - MOST_WAITING
    connection.execute("delete from telegram_updates where update_id <= ?", (oldest,))


def _keep_newest(connection: sqlite3.Connection, many: int, bot: str) -> None:
    connection.execute(
        "delete from telegram_updates where bot = ? and update_id not in"
        " (select update_id from telegram_updates where bot = ? order by update_id desc limit ?)",
        (bot, bot, many),
    )


def _last(connection: sqlite3.Connection) -> int:
    row = connection.execute("select seq from sqlite_sequence where name = 'telegram_updates'").fetchone()
    return int(row[0]) if row else 0


# Telegram messages with their edits, reactions and pressed buttons; the last of them, for each chat.

KEPT_PER_CHAT: Final = 10_000
_TRIM_EVERY: Final = 100
_MOST_PRESSES: Final = 20
_MOST_ACTIONS: Final = 100

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
create index if not exists telegram_callbacks_of_message on telegram_callbacks (message_id);
"""
TELEGRAM_COLUMNS: Final = (
    ("telegram_messages", "from_id", "integer"),
    ("telegram_messages", "bot", "text not null default ''"),
    ("telegram_messages", "entities", "text"),
    ("telegram_messages", "files", "text not null default '[]'"),
    ("telegram_edits", "earlier_markup", "text"),
    ("telegram_edits", "edited_us", "integer"),
    ("telegram_callbacks", "from_id", "integer"),
    ("telegram_callbacks", "is_alert", "integer not null default 0"),
    ("telegram_messages", "deleted_us", "integer"),
)

_CALLBACK = "callback_id, chat_id, message_id, data, date_us, answer, answered_us, from_id, is_alert"
_MESSAGE = (
    "message_id, chat_id, text, date_us, from_person, from_name, reply_to_message_id, parse_mode, reply_markup,"
    " (select json_group_array(emoji) from telegram_reactions r"
    "  where r.message_id = m.message_id and current and emoji is not null),"
    " (select json_group_array(json_array(earlier_text, earlier_markup, edited_us)) from"
    "  (select * from telegram_edits e where e.message_id = m.message_id order by edit_id)), from_id,"
    f" (select json_group_array(json_array({_CALLBACK})) from (select * from"
    "  (select * from telegram_callbacks c where c.message_id = m.message_id"
    f"  order by callback_id desc limit {_MOST_PRESSES}) order by callback_id)), bot, entities, files, deleted_us"
)
_REACTION = "reaction_id, chat_id, message_id, emoji, from_person, date_us"


class TelegramLedger:
    def __init__(self, file: LedgerFile) -> None:
        self._file = file
        self._queue = UpdateQueue(file)
        self.actions: deque[tuple[str, str]] = deque(maxlen=_MOST_ACTIONS)  # what the bot is seen doing, for a moment

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
        from_id: int | None = None,
        bot: str = "",
        entities: str | None = None,
        files: Sequence[SandboxFile] = (),
        announce: _Announce | None = None,
    ) -> TelegramMessage:
        """
        `announce` turns the kept message into the update the bot will fetch, in the same transaction.

        What answers a message is for the bot that sent it.
        """
        with self._file.writing() as connection:
            if from_person and reply_to is not None and (replied := _message_by_id(connection, chat_id, reply_to)):
                bot = replied.bot
            cursor = connection.execute(
                "insert into telegram_messages (chat_id, text, date_us, from_person, from_name, reply_to_message_id,"
                " parse_mode, reply_markup, from_id, bot, entities, files) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(chat_id, text, now_us, from_person, from_name, reply_to),
                    *(parse_mode, reply_markup, from_id, bot, entities, files_text(files)),
                ),
            )
            message = _message_by_id(connection, chat_id, cursor.lastrowid or 0)
            assert message is not None  # noqa: S101 - inserted two lines above, in this transaction
            _put(connection, announce, message, now_us, message.bot)
            _trim(connection, message)
        return message

    def anywhere(self, message_id: int) -> TelegramMessage | None:
        """Here, unlike at Telegram, no two chats have a message of the same number."""
        with self._file.reading() as connection:
            found = connection.execute(
                "select chat_id from telegram_messages where message_id = ?", (message_id,)
            ).fetchone()
            return _message_by_id(connection, found[0], message_id) if found else None

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

    def chats(self, limit: int) -> list[str]:
        """By when something was last said in them, the newest first."""
        statement = "select chat_id from telegram_messages group by chat_id order by max(message_id) desc limit ?"
        with self._file.reading() as connection:
            return [row[0] for row in connection.execute(statement, (limit,))]

    def count(self, *, from_person: bool | None, chat_id: str | None, since: int | None) -> int:
        where, values = _message_filter(from_person, chat_id, since)
        with self._file.reading() as connection:
            row = connection.execute(f"select count(*) from telegram_messages m where {where}", values).fetchone()
        return int(row[0])

    def edit(
        self,
        message: TelegramMessage,
        text: str,
        reply_markup: str | None,
        *,
        now_us: int,
        entities: str | None = None,
    ) -> TelegramMessage:
        with self._file.writing() as connection:
            connection.execute(
                "insert into telegram_edits (message_id, earlier_text, earlier_markup, edited_us) values (?, ?, ?, ?)",
                (message.message_id, message.text, message.reply_markup, now_us),
            )
            connection.execute(
                "update telegram_messages set text = ?, reply_markup = ?, entities = ? where message_id = ?",
                (text, reply_markup, entities, message.message_id),
            )
            edited = _message_by_id(connection, message.chat_id, message.message_id)
        return edited or message

    def delete(self, message: TelegramMessage, *, now_us: int) -> None:
        """Gone from the chat; it stays on record that it was there."""
        with self._file.writing() as connection:
            connection.execute(
                "update telegram_messages set deleted_us = ? where message_id = ?", (now_us, message.message_id)
            )

    def react(
        self,
        message: TelegramMessage,
        emoji: str | None,
        *,
        from_person: bool,
        now_us: int,
        announce: _Announce | None = None,
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
            _put(connection, announce, reaction, now_us, message.bot)
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

    def press(
        self, message: TelegramMessage, data: str, *, now_us: int, announce: _Announce, from_id: int | None = None
    ) -> Callback:
        with self._file.writing() as connection:
            cursor = connection.execute(
                "insert into telegram_callbacks (chat_id, message_id, data, date_us, from_id) values (?, ?, ?, ?, ?)",
                (message.chat_id, message.message_id, data, now_us, from_id),
            )
            callback = Callback(
                callback_id=cursor.lastrowid or 0,
                chat_id=message.chat_id,
                message_id=message.message_id,
                data=data,
                date_us=now_us,
                from_id=from_id,
            )
            _put(connection, announce, callback, now_us, message.bot)
        return callback

    def answer_callback(self, callback_id: int, text: str, *, now_us: int, is_alert: bool = False) -> bool:
        """False when no button was pressed under that id, or too long ago, or it was answered before."""
        statement = (
            "update telegram_callbacks set answer = ?, answered_us = ?, is_alert = ?"
            " where callback_id = ? and answered_us is null and date_us > ?"
        )
        oldest_us = now_us - seconds(_PRESS_LIVES_SECONDS)
        with self._file.writing() as connection:
            return connection.execute(statement, (text, now_us, is_alert, callback_id, oldest_us)).rowcount == 1

    def callbacks(self, *, since: int | None, limit: int) -> list[Callback]:
        statement = (
            f"select {_CALLBACK} from telegram_callbacks where callback_id > ?"
            f" order by callback_id {'desc' if since is None else 'asc'} limit ?"
        )
        with self._file.reading() as connection:
            rows = connection.execute(statement, (since or 0, limit)).fetchall()
        return [_callback(row) for row in (reversed(rows) if since is None else rows)]

    def updates(
        self, *, offset: int, limit: int, kinds: Collection[str], now_us: int = 0, bot: str = ""
    ) -> list[JsonBody]:
        return self._queue.fetch(offset=offset, limit=limit, kinds=kinds, now_us=now_us, bot=bot)

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


def _trim(connection: sqlite3.Connection, newest: TelegramMessage) -> None:
    """Once in a while: what is older than the last of this chat is forgotten, with all that hangs on it."""
    if newest.message_id % _TRIM_EVERY:
        return
    oldest = connection.execute(
        "select message_id from telegram_messages where chat_id = ? order by message_id desc limit 1 offset ?",
        (newest.chat_id, KEPT_PER_CHAT),
    ).fetchone()
    if oldest is None:
        return
    gone = "select message_id from telegram_messages where chat_id = ? and message_id <= ?"
    for table in ("edits", "reactions", "callbacks", "messages"):
        connection.execute(f"delete from telegram_{table} where message_id in ({gone})", (newest.chat_id, oldest[0]))


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
        edits=tuple(Edit(text=text, reply_markup=markup, edited_us=at) for text, markup, at in json.loads(row[10])),
        from_id=row[11],
        presses=tuple(_callback(press) for press in json.loads(row[12])),
        bot=row[13],
        entities=row[14],
        files=files_of_text(row[15]),
        is_deleted=row[16] is not None,
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


def _callback(row: Sequence[Any]) -> Callback:
    return Callback(
        callback_id=row[0],
        chat_id=row[1],
        message_id=row[2],
        data=row[3],
        date_us=row[4],
        answer=row[5],
        answered_us=row[6],
        from_id=row[7],
        is_alert=bool(row[8]),
    )
