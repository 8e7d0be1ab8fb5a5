"""Mails the sandbox received, and mails the person wrote."""

from __future__ import annotations

import json
import sqlite3
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from postroom.kernel.values.ids import SECOND_US, seconds, to_text
from postroom.sandbox.records import (
    FILE_TABLES,
    ArrivedFile,
    Callback,
    Edit,
    FileShelf,
    LedgerFile,
    Reaction,
    ReceivedMail,
    SandboxFile,
    StoredMail,
    TelegramMessage,
    files_of_text,
    files_text,
)

KEPT_MAILS: Final = 10_000

EMAIL_TABLES = """
create table if not exists emails (
    email_id integer primary key autoincrement,
    from_person integer not null,
    sender text not null,
    recipients text not null,
    subject text not null,
    body text not null,
    message_id text,
    in_reply_to text,
    thread_references text,
    headers text not null,
    raw blob not null,
    received_us integer not null
);
create table if not exists mailbox (validity integer not null);
insert into mailbox select cast(strftime('%s', 'now') as integer) where not exists (select 1 from mailbox);
"""
"""A mailbox that begins anew numbers its mails anew, and says so by its validity."""

EMAIL_COLUMNS: Final = (("emails", "files", "text not null default '[]'"),)
_COLUMNS = (
    "email_id, received_us, sender, recipients, subject, body, message_id, in_reply_to, thread_references, headers,"
    " files"
)


class EmailLedger:
    def __init__(self, file: LedgerFile) -> None:
        self._file = file
        self._shelf = FileShelf(file)

    def keep(self, mail: ReceivedMail, *, from_person: bool, now_us: int) -> StoredMail:
        """A mail from the person that names no Message-ID gets one, so that it can be answered."""
        mail = replace(mail, given=(), files=tuple(self._shelf.keep(one) for one in mail.given))
        with self._file.writing() as connection:
            email_id = self._insert(connection, mail, from_person=from_person, now_us=now_us)
            if from_person and mail.message_id is None:
                connection.execute(
                    "update emails set message_id = ? where email_id = ?",
                    (f"<inbound-{email_id}@sandbox.invalid>", email_id),
                )
            connection.execute("delete from emails where email_id <= ?", (email_id - KEPT_MAILS,))
            row = connection.execute(f"select {_COLUMNS} from emails where email_id = ?", (email_id,)).fetchone()
        return _stored(row)

    def with_files(self, kept: StoredMail) -> StoredMail:
        """With the bytes of its files, as far as they are still kept."""
        found = [(one, self._shelf.content(one.sha256)) for one in kept.mail.files]
        given = [ArrivedFile(name=one.name, media_type=one.media_type, content=held) for one, held in found if held]
        return replace(kept, mail=replace(kept.mail, given=tuple(given)))

    def mails(self, *, from_person: bool, since: int | None, limit: int) -> list[StoredMail]:
        """Oldest first: the ones after `since`, or else the newest."""
        order = "desc" if since is None else "asc"
        statement = (
            f"select {_COLUMNS} from emails where from_person = ? and email_id > ? order by email_id {order} limit ?"
        )
        with self._file.reading() as connection:
            rows = connection.execute(statement, (from_person, since or 0, limit)).fetchall()
        return [_stored(row) for row in (reversed(rows) if since is None else rows)]

    def count(self, *, from_person: bool, since: int | None) -> int:
        statement = "select count(*) from emails where from_person = ? and email_id > ?"
        with self._file.reading() as connection:
            return int(connection.execute(statement, (from_person, since or 0)).fetchone()[0])

    def raw(self, email_id: int) -> bytes | None:
        with self._file.reading() as connection:
            row = connection.execute("select raw from emails where email_id = ?", (email_id,)).fetchone()
        return None if row is None else bytes(row[0])

    def validity(self) -> int:
        with self._file.reading() as connection:
            return int(connection.execute("select validity from mailbox").fetchone()[0])

    def clear(self, connection: sqlite3.Connection) -> None:
        connection.execute("delete from emails")

    def _insert(self, connection: sqlite3.Connection, mail: ReceivedMail, *, from_person: bool, now_us: int) -> int:
        cursor = connection.execute(
            "insert into emails (from_person, sender, recipients, subject, body, message_id, in_reply_to,"
            " thread_references, headers, raw, received_us, files) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                from_person,
                mail.sender,
                json.dumps(mail.recipients),
                mail.subject,
                mail.body,
                mail.message_id,
                mail.in_reply_to,
                mail.references,
                json.dumps(dict(mail.headers)),
                mail.raw,
                now_us,
                files_text(mail.files),
            ),
        )
        assert cursor.lastrowid is not None  # noqa: S101 - an insert that did not raise has a row id
        return cursor.lastrowid


def _stored(row: tuple[Any, ...]) -> StoredMail:
    email_id, received_us, sender, recipients, subject, body, message_id, in_reply_to, references, headers, files = row
    mail = ReceivedMail(
        sender=sender,
        recipients=tuple(json.loads(recipients)),
        subject=subject,
        body=body,
        message_id=message_id,
        in_reply_to=in_reply_to,
        references=references,
        headers=json.loads(headers),
        files=files_of_text(files),
    )
    return StoredMail(email_id=email_id, received_us=received_us, mail=mail)


# What the sandbox received, in its own SQLite file.
#
# Every statement is short and commits before the answer goes out, so what a client was told is there even after the
# process was killed. Ids come from `autoincrement`: they keep counting over restarts and after a clear.


class SandboxLedger:
    def __init__(self, path: Path | None = None) -> None:
        self._file = LedgerFile(
            path,
            TELEGRAM_TABLES + UPDATE_TABLES + EMAIL_TABLES + FILE_TABLES,
            (*TELEGRAM_COLUMNS, *UPDATE_COLUMNS, *EMAIL_COLUMNS),
        )
        self.changes = self._file.changes  # for who shows what is kept
        self.files = FileShelf(self._file)
        self.updates = UpdateQueue(self._file)
        self.telegram = TelegramLedger(self._file)
        self.email = EmailLedger(self._file)

    def clear(self) -> None:
        with self._file.writing() as connection:
            self.telegram.clear(connection)
            self.email.clear(connection)
            self.files.clear(connection)

    def close(self) -> None:
        self._file.close()


# How what was kept is listed to programs.


def message_listing(message: TelegramMessage) -> dict[str, Any]:
    return {
        "message_id": message.message_id,
        "chat_id": message.chat_id,
        "text": message.text,
        "date": message.date_us // SECOND_US,
        "received_at": to_text(message.date_us),
        "reply_to_message_id": message.reply_to_message_id,
        "reactions": list(message.reactions),
        "earlier_texts": list(message.earlier_texts),
        "is_deleted": message.is_deleted,
        "parse_mode": message.parse_mode,
        "entities": None if message.entities is None else json.loads(message.entities),
        "reply_markup": None if message.reply_markup is None else json.loads(message.reply_markup),
        "from_name": message.from_name,
        "from_id": message.from_id,
        "edits": [edit_listing(edit) for edit in message.edits],
        "presses": [callback_listing(press) for press in message.presses],
        "attachments": [one.listing() for one in message.files],
    }


def edit_listing(edit: Edit) -> dict[str, Any]:
    """What stood there before."""
    return {
        "text": edit.text,
        "reply_markup": None if edit.reply_markup is None else json.loads(edit.reply_markup),
        "edited_at": None if edit.edited_us is None else to_text(edit.edited_us),
    }


def reaction_listing(reaction: Reaction) -> dict[str, Any]:
    return {
        "reaction_id": reaction.reaction_id,
        "chat_id": reaction.chat_id,
        "message_id": reaction.message_id,
        "emoji": reaction.emoji,
        "from": "person" if reaction.from_person else "bot",
        "date": reaction.date_us // SECOND_US,
    }


def callback_listing(callback: Callback) -> dict[str, Any]:
    return {
        "callback_query_id": str(callback.callback_id),
        "chat_id": callback.chat_id,
        "message_id": callback.message_id,
        "data": callback.data,
        "date": callback.date_us // SECOND_US,
        "answered": callback.answered_us is not None,
        "answer": callback.answer,
        "alert": callback.is_alert,
        "from_id": callback.from_id,
    }


def mail_listing(stored: StoredMail) -> dict[str, Any]:
    """`from` and `to` are the envelope's; what the headers claim is under `headers`."""
    mail = stored.mail
    return {
        "id": stored.email_id,
        "from": mail.sender,
        "to": ", ".join(mail.recipients),
        "recipients": list(mail.recipients),
        "subject": mail.subject,
        "body": mail.body,
        "message_id": mail.message_id,
        "in_reply_to": mail.in_reply_to,
        "references": mail.references,
        "headers": dict(mail.headers),
        "attachments": [one.listing() for one in mail.files],
        "received_at": to_text(stored.received_us),
    }


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
        announce: Announce | None = None,
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
            put(connection, announce, message, now_us, message.bot)
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
            put(connection, announce, reaction, now_us, message.bot)
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
        self, message: TelegramMessage, data: str, *, now_us: int, announce: Announce, from_id: int | None = None
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
            put(connection, announce, callback, now_us, message.bot)
        return callback

    def answer_callback(self, callback_id: int, text: str, *, now_us: int, is_alert: bool = False) -> bool:
        """False when no button was pressed under that id, or too long ago, or it was answered before."""
        statement = (
            "update telegram_callbacks set answer = ?, answered_us = ?, is_alert = ?"
            " where callback_id = ? and answered_us is null and date_us > ?"
        )
        oldest_us = now_us - seconds(PRESS_LIVES_SECONDS)
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
    ) -> list[dict[str, Any]]:
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
PRESS_LIVES_SECONDS: Final = 150
UPDATE_LIVES_SECONDS: Final = 86_400
MOST_WAITING: Final = 10_000

Announce = Callable[[Any], tuple[str, dict[str, Any]]]


class UpdateQueue:
    def __init__(self, file: LedgerFile) -> None:
        self._file = file

    def fetch(
        self, *, offset: int, limit: int, kinds: Collection[str], now_us: int, bot: str = ""
    ) -> list[dict[str, Any]]:
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


def put(connection: sqlite3.Connection, announce: Announce | None, record: Any, now_us: int, bot: str = "") -> None:
    """`announce` turns what was kept into the update the bot will fetch, in the same transaction."""
    if announce is None:
        return
    kind, payload = announce(record)
    lives = PRESS_LIVES_SECONDS if kind == "callback_query" else UPDATE_LIVES_SECONDS
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
