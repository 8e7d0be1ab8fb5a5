"""What the sandbox received: the mails, and all of its ledgers in one file."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from postroom.sandbox.records import (
    FILE_TABLES,
    ArrivedFile,
    FileShelf,
    LedgerFile,
    ReceivedMail,
    StoredMail,
    files_of_text,
    files_text,
)
from postroom.sandbox.telegram_ledger import (
    TELEGRAM_COLUMNS,
    TELEGRAM_TABLES,
    UPDATE_COLUMNS,
    UPDATE_TABLES,
    TelegramLedger,
    UpdateQueue,
)

# Mails the sandbox received, and mails the person wrote.

_KEPT_MAILS: Final = 10_000

_EMAIL_TABLES = """
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

_EMAIL_COLUMNS: Final = (("emails", "files", "text not null default '[]'"),)
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
            connection.execute("delete from emails where email_id <= ?", (email_id - _KEPT_MAILS,))
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
            TELEGRAM_TABLES + UPDATE_TABLES + _EMAIL_TABLES + FILE_TABLES,
            (*TELEGRAM_COLUMNS, *UPDATE_COLUMNS, *_EMAIL_COLUMNS),
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
