"""One SQLite file with a lock around its one connection."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from postroom.system.signal import Signal


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
