"""
Updates the bot has not fetched yet.

As at Telegram, a pressed button waits 150 seconds and everything else a day; an offset confirms all before it, and one
that lies beyond the end of the queue confirms nothing, because numbers start anew after a quiet week.
"""

# ruff: noqa: S608 - only marks are put together; every value is bound

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection
from typing import Any, Final

from postroom.domain.time import seconds
from postroom.programs.sandbox.ledger_file import LedgerFile

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
