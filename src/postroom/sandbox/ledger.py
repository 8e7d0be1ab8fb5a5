"""What the sandbox has shown, in one SQLite file; the updates no bot has fetched yet; and the bytes of files."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from postroom.kernel.database.rows import of_json, to_json
from postroom.kernel.http.answers import JsonBody
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.ids import seconds
from postroom.sandbox.records import ArrivedFile, Callback, Reaction, SandboxFile, SandboxRecord, TelegramMessage

# One SQLite file with a lock around its one connection.


class LedgerFile:
    def __init__(self, path: Path | None, tables: str) -> None:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            # people's messages: nobody else on this machine may read them
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self.changes = Signal()
        """For who shows what is kept."""
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
        for pragma in ("journal_mode = wal", "synchronous = normal", "busy_timeout = 2000"):
            self._connection.execute(f"pragma {pragma}")
        self._connection.executescript(tables)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, however many write within it."""
        with self._lock:
            if self._connection.in_transaction:
                yield self._connection
                return
            self._connection.execute("begin immediate")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("rollback")
                raise
            self._connection.execute("commit")
            self.changes.ring()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            yield self._connection

    def close(self) -> None:
        with self._lock:
            self._connection.close()


# The files that came with messages: their bytes once for each hash, the newest of them.

_KEPT_BYTES: Final = 512 * 1_048_576
_TRIM_FILES: Final = (
    "delete from sandbox_files where number in (select number from"
    " (select number, sum(length(content)) over (order by number desc) as total from sandbox_files) where total > ?)"
)


class FileShelf:
    def __init__(self, file: LedgerFile) -> None:
        self._file = file

    def keep(self, given: ArrivedFile) -> SandboxFile:
        sha256 = hashlib.sha256(given.content).hexdigest()
        with self._file.writing() as connection:
            connection.execute("delete from sandbox_files where sha256 = ?", (sha256,))
            connection.execute("insert into sandbox_files (sha256, content) values (?, ?)", (sha256, given.content))
            connection.execute(_TRIM_FILES, (_KEPT_BYTES,))
        return SandboxFile(name=given.name, media_type=given.media_type, size=len(given.content), sha256=sha256)

    def content(self, sha256: str) -> bytes | None:
        with self._file.reading() as connection:
            row = connection.execute("select content from sandbox_files where sha256 = ?", (sha256,)).fetchone()
        return None if row is None else bytes(row[0])


# Updates the bot has not fetched yet.
#
# As at Telegram, a pressed button waits 150 seconds and everything else a day; an offset confirms all before it, and
# one that lies beyond the end of the queue confirms nothing, because numbers start anew after a quiet week.

PRESS_LIVES_SECONDS: Final = 150
_UPDATE_LIVES_SECONDS: Final = 86_400
MOST_WAITING: Final = 10_000


class UpdateQueue:
    def __init__(self, file: LedgerFile) -> None:
        self._file = file

    def fetch(self, *, offset: int, limit: int, kinds: Collection[str], now_us: int, bot: str = "") -> list[JsonBody]:
        """A positive offset confirms everything before it; a negative one keeps only that many from the end."""
        with self._file.writing() as connection:
            connection.execute("delete from sandbox_updates where expires_us <= ?", (now_us,))
            if offset < 0:
                connection.execute(
                    "delete from sandbox_updates where bot = :bot and update_id not in (select update_id"
                    " from sandbox_updates where bot = :bot order by update_id desc limit :many)",
                    {"bot": bot, "many": -offset},
                )
            elif 0 < offset <= _last(connection) + 1:
                connection.execute("delete from sandbox_updates where update_id < ? and bot = ?", (offset, bot))
            marks = ", ".join("?" * len(kinds))
            rows = connection.execute(
                f"select update_id, kind, payload from sandbox_updates where kind in ({marks})"
                " and bot = ? order by update_id limit ?",
                (*kinds, bot, limit),
            ).fetchall()
        return [{"update_id": update_id, kind: json.loads(payload)} for update_id, kind, payload in rows]

    def put(self, kind: str, payload: JsonBody, now_us: int, bot: str) -> None:
        lives = PRESS_LIVES_SECONDS if kind == "callback_query" else _UPDATE_LIVES_SECONDS
        with self._file.writing() as connection:
            cursor = connection.execute(
                "insert into sandbox_updates (kind, payload, expires_us, bot) values (?, ?, ?, ?)",
                (kind, json.dumps(payload), now_us + seconds(lives), bot),
            )
            oldest = (cursor.lastrowid or 0) - MOST_WAITING
            connection.execute("delete from sandbox_updates where update_id <= ?", (oldest,))

    def age(self, by_us: int) -> None:
        with self._file.writing() as connection:
            connection.execute("update sandbox_updates set expires_us = expires_us - ?", (by_us,))


def _last(connection: sqlite3.Connection) -> int:
    row = connection.execute("select seq from sqlite_sequence where name = 'sandbox_updates'").fetchone()
    return int(row[0]) if row else 0


# All that was shown, whichever service showed it; the last of each kind, for each place.
#
# Every statement is short and commits before the answer goes out, so what a client was told is there even after the
# process was killed. Numbers keep counting over restarts and after a clear.

KEPT_PER_PLACE: Final = 10_000
_TRIM_EVERY: Final = 100
_MOST_PRESSES: Final = 20
_MOST_ACTIONS: Final = 100
_TABLES: Final = """
create table if not exists sandbox_shown (
    kind text not null,
    number integer not null,
    place text not null,
    from_person integer not null,
    about integer,
    record text not null,
    raw blob,
    primary key (kind, number)
);
create index if not exists sandbox_shown_in_place on sandbox_shown (kind, place, number);
create table if not exists sandbox_numbers (kind text primary key, last integer not null);
insert into sandbox_numbers values ('mailbox', strftime('%s', 'now')) on conflict do nothing;
create table if not exists sandbox_updates (
    update_id integer primary key autoincrement,
    kind text not null,
    payload text not null,
    expires_us integer not null,
    bot text not null
);
create table if not exists sandbox_files (
    number integer primary key autoincrement,
    sha256 text not null unique,
    content blob not null
);
"""
_NEXT: Final = (
    "insert into sandbox_numbers values (?, 1) on conflict (kind) do update set last = last + 1 returning last"
)
_Record = TypeVar("_Record", bound=SandboxRecord)
Announce = Callable[[_Record], tuple[str, JsonBody]]
"""Turns what was kept into the update the bot will fetch, in the same transaction."""


class SandboxLedger(LedgerFile):
    def __init__(self, path: Path | None = None) -> None:
        super().__init__(path, _TABLES)
        self.files = FileShelf(self)
        self.updates = UpdateQueue(self)
        self.actions: deque[tuple[str, str]] = deque(maxlen=_MOST_ACTIONS)
        """What the bot is seen doing, for a moment."""

    def keep(
        self,
        record: _Record,
        announce: Announce[_Record] | None = None,
        *,
        bot: str = "",
        raw: bytes | None = None,
    ) -> _Record:
        """Under the next number of its kind; the update is for that bot."""
        with self.writing() as connection:
            (number,) = connection.execute(_NEXT, (record.KIND,)).fetchone()
            kept = replace(record, number=number)
            connection.execute(
                "insert into sandbox_shown values (?, ?, ?, ?, ?, ?, ?)",
                (kept.KIND, number, kept.place, kept.from_person, kept.about, to_json(kept), raw),
            )
            if announce is not None:
                self.updates.put(*announce(kept), kept.at_us, bot)
            if number % _TRIM_EVERY == 0:
                _trim(connection, kept)
        return kept

    def change(self, record: _Record) -> _Record:
        with self.writing() as connection:
            connection.execute(
                "update sandbox_shown set record = ? where kind = ? and number = ?",
                (to_json(record), record.KIND, record.number),
            )
        return record

    def one(self, kind: type[_Record], number: int, place: str | None = None) -> _Record | None:
        found = self.shown(kind, place=place, since=number - 1, limit=1)
        return found[0] if found and found[0].number == number else None

    def shown(
        self,
        kind: type[_Record],
        *,
        place: str | None = None,
        from_person: bool | None = None,
        since: int | None = None,
        limit: int = KEPT_PER_PLACE,
    ) -> list[_Record]:
        """Oldest first: the ones after `since`, or else the newest."""
        where, values = _wanted(kind, place, from_person, since)
        order = "desc" if since is None else "asc"
        statement = f"select record from sandbox_shown where {where} order by number {order} limit ?"
        with self.reading() as connection:
            rows = connection.execute(statement, (*values, limit)).fetchall()
        return [of_json(kind, text) for (text,) in (reversed(rows) if since is None else rows)]

    def count(
        self,
        kind: type[SandboxRecord],
        *,
        place: str | None = None,
        from_person: bool | None = None,
        since: int | None = None,
    ) -> int:
        where, values = _wanted(kind, place, from_person, since)
        with self.reading() as connection:
            return int(connection.execute(f"select count(*) from sandbox_shown where {where}", values).fetchone()[0])

    def react(
        self,
        message: TelegramMessage,
        emoji: str | None,
        *,
        from_person: bool,
        now_us: int,
        announce: Announce[Reaction] | None = None,
    ) -> Reaction:
        """Replaces what the same side had set before; every tap stays on record."""
        tap = Reaction(
            place=message.place, from_person=from_person, at_us=now_us, message_id=message.number, emoji=emoji
        )
        with self.writing():
            kept = self.keep(tap, announce, bot=message.bot)
            others = tuple(one for one in message.taps if one.from_person is not from_person)
            self.change(replace(message, taps=(*others, kept) if emoji else others))
        return kept

    def press(
        self, message: TelegramMessage, data: str, *, from_id: int | None, now_us: int, announce: Announce[Callback]
    ) -> Callback:
        press = Callback(
            place=message.place, from_person=True, at_us=now_us, message_id=message.number, data=data, from_id=from_id
        )
        with self.writing():
            kept = self.keep(press, announce, bot=message.bot)
            self.change(replace(message, presses=(*message.presses, kept)[-_MOST_PRESSES:]))
        return kept

    def answer_press(self, number: int, text: str, *, is_alert: bool, now_us: int) -> bool:
        """False when no button was pressed under that number, or too long ago, or it was answered before."""
        press = self.one(Callback, number)
        if press is None or press.answered_us is not None or press.at_us <= now_us - seconds(PRESS_LIVES_SECONDS):
            return False
        self._change_press(replace(press, answer=text, answered_us=now_us, is_alert=is_alert))
        return True

    def age(self, by_seconds: float) -> None:
        """As if the bot had not asked for so long."""
        with self.writing():
            self.updates.age(seconds(by_seconds))
            for press in self.shown(Callback):
                self._change_press(replace(press, at_us=press.at_us - seconds(by_seconds)))

    def _change_press(self, press: Callback) -> None:
        with self.writing():
            self.change(press)
            if message := self.one(TelegramMessage, press.message_id):
                presses = tuple(press if one.number == press.number else one for one in message.presses)
                self.change(replace(message, presses=presses))

    def chats(self, limit: int) -> list[str]:
        """By when something was last said in them, the newest first."""
        statement = "select place from sandbox_shown where kind = ? group by place order by max(number) desc limit ?"
        with self.reading() as connection:
            return [place for (place,) in connection.execute(statement, (TelegramMessage.KIND, limit))]

    def raw(self, kind: type[SandboxRecord], number: int) -> bytes | None:
        statement = "select raw from sandbox_shown where kind = ? and number = ?"
        with self.reading() as connection:
            row = connection.execute(statement, (kind.KIND, number)).fetchone()
        return None if row is None else bytes(row[0] or b"")

    def validity(self) -> int:
        """A mailbox that begins anew numbers its mails anew, and says so by this."""
        with self.reading() as connection:
            return int(connection.execute("select last from sandbox_numbers where kind = 'mailbox'").fetchone()[0])

    def clear(self) -> None:
        with self.writing() as connection:
            for table in ("shown", "updates", "files"):
                connection.execute(f"delete from sandbox_{table}")


def _wanted(
    kind: type[SandboxRecord], place: str | None, from_person: bool | None, since: int | None
) -> tuple[str, tuple[Any, ...]]:
    asked = {"kind": kind.KIND, "place": place, "from_person": from_person}
    given = {name: value for name, value in asked.items() if value is not None}
    return "".join(f"{name} = ? and " for name in given) + "number > ?", (*given.values(), since or 0)


def _trim(connection: sqlite3.Connection, newest: SandboxRecord) -> None:
    """Once in a while: what is older than the last of this place is forgotten, with all that hangs on it."""
    oldest = connection.execute(
        "select number from sandbox_shown where kind = ? and place = ? order by number desc limit 1 offset ?",
        (newest.KIND, newest.place, KEPT_PER_PLACE),
    ).fetchone()
    if oldest is None:
        return
    gone = "delete from sandbox_shown where place = ? and"
    connection.execute(f"{gone} kind = ? and number <= ?", (newest.place, newest.KIND, oldest[0]))
    if newest.KIND == TelegramMessage.KIND:
        connection.execute(f"{gone} about <= ?", (newest.place, oldest[0]))
