"""
What the sandbox received, in its own SQLite file.

Every statement is short and commits before the answer goes out, so what a
client was told is there even after the process was killed. Ids come from
`autoincrement`: they keep counting over restarts and after a clear.
"""

from __future__ import annotations

from pathlib import Path

from postroom.programs.sandbox.email_ledger import EMAIL_COLUMNS, EMAIL_TABLES, EmailLedger
from postroom.programs.sandbox.kept_files import FILE_TABLES, FileShelf
from postroom.programs.sandbox.ledger_file import LedgerFile
from postroom.programs.sandbox.telegram_ledger import TELEGRAM_COLUMNS, TELEGRAM_TABLES, TelegramLedger
from postroom.programs.sandbox.update_queue import UPDATE_COLUMNS, UPDATE_TABLES, UpdateQueue


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
