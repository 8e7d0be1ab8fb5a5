"""One SQLite file of the sandbox with a lock around its one connection, and the bytes of files in it."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from postroom.kernel.running.loop import Signal
from postroom.sandbox.records import (
    ArrivedFile,
    SandboxFile,
)


class LedgerFile:
    def __init__(self, path: Path | None, tables: str, columns: Sequence[tuple[str, str, str]] = ()) -> None:
        """`columns` came later than the tables they are in, so an older file may not have them yet."""
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            # people's messages: nobody else on this machine may read them
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self.changes = Signal()
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
        for pragma in ("journal_mode = wal", "synchronous = normal", "busy_timeout = 2000"):
            self._connection.execute(f"pragma {pragma}")
        self._connection.executescript(tables)
        for table, column, kind in columns:
            self._add(table, column, kind)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
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

    def _add(self, table: str, column: str, kind: str) -> None:
        known = {row[1] for row in self._connection.execute(f"pragma table_info({table})")}
        if column not in known:
            self._connection.execute(f"alter table {table} add column {column} {kind}")

    def close(self) -> None:
        with self._lock:
            self._connection.close()


# The files that came with messages: their bytes once for each hash, the newest of them.

_KEPT_BYTES: Final = 512 * 1_048_576
FILE_TABLES: Final = """
create table if not exists sandbox_files (
    number integer primary key autoincrement,
    sha256 text not null unique,
    content blob not null
);
"""
_TRIM: Final = (
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
            connection.execute(_TRIM, (_KEPT_BYTES,))
        return SandboxFile(name=given.name, media_type=given.media_type, size=len(given.content), sha256=sha256)

    def content(self, sha256: str) -> bytes | None:
        with self._file.reading() as connection:
            row = connection.execute("select content from sandbox_files where sha256 = ?", (sha256,)).fetchone()
        return None if row is None else bytes(row[0])

    def clear(self, connection: sqlite3.Connection) -> None:
        connection.execute("delete from sandbox_files")
