"""What the sandbox keeps, as plain values, and how its own routes list it, read requests and answer."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import FieldError, ValidationError
from postroom.kernel.values.ids import SECOND_US, to_text

SANDBOX_TOKEN: Final = "40290:sandbox"  # noqa: S105 - opens nothing but this sandbox


def sandbox_token(name: str = "") -> str:
    return f"{SANDBOX_TOKEN}-{name}" if name else SANDBOX_TOKEN


def bot_name(token: str) -> str:
    """Empty for the one bot that most households have, and for every token of somebody else's."""
    own = f"{SANDBOX_TOKEN}-"
    return token.removeprefix(own) if token.startswith(own) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivedFile:
    """As a client handed it over."""

    name: str
    media_type: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxFile:
    name: str
    media_type: str
    size: int
    sha256: str
    is_photo: bool = False
    """Shown as a picture by a service that has both."""
    sent_as: str = ""
    """Voice, video and the like, where a service tells them from documents."""

    def listing(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in ("is_photo", "sent_as")}


def files_text(files: Iterable[SandboxFile]) -> str:
    return json.dumps([asdict(one) for one in files])


def files_of_text(text: str) -> tuple[SandboxFile, ...]:
    return files_of(json.loads(text))


def files_of(listed: Iterable[Mapping[str, Any]]) -> tuple[SandboxFile, ...]:
    return tuple(SandboxFile(**one) for one in listed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What a message said before it was edited; when is not known of edits that older files keep."""

    text: str = field(repr=False)
    reply_markup: str | None = field(default=None, repr=False)
    edited_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramMessage:
    message_id: int
    chat_id: str
    text: str = field(repr=False)
    date_us: int
    from_person: bool = False
    from_name: str | None = None
    reply_to_message_id: int | None = None
    parse_mode: str | None = None
    reply_markup: str | None = field(default=None, repr=False)
    reactions: tuple[str, ...] = ()
    from_id: int | None = None
    bot: str = ""
    """Which of the household's bots it is from, or for."""
    entities: str | None = field(default=None, repr=False)
    edits: tuple[Edit, ...] = field(default=(), repr=False)
    presses: tuple[Callback, ...] = field(default=(), repr=False)
    files: tuple[SandboxFile, ...] = ()
    """Then the text is their caption."""
    is_deleted: bool = False

    @property
    def earlier_texts(self) -> tuple[str, ...]:
        """Without the edits that changed the buttons alone."""
        followed = [*(edit.text for edit in self.edits[1:]), self.text]
        return tuple(edit.text for edit, after in zip(self.edits, followed, strict=False) if edit.text != after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who really typed a message, and how it came into the chat."""

    from_id: int | None = None
    is_bot: bool = False
    forwarded: bool = False
    sender_chat_id: str | None = None
    via_bot: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """One tap; `emoji` is None when the reaction was taken back."""

    reaction_id: int
    chat_id: str
    message_id: int
    emoji: str | None
    from_person: bool
    date_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """A button the person pressed, and what the bot answered."""

    callback_id: int
    chat_id: str
    message_id: int
    data: str = field(repr=False)
    date_us: int
    answer: str | None = field(default=None, repr=False)
    answered_us: int | None = None
    from_id: int | None = None
    is_alert: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMail:
    """One mail, read; `raw` is the bytes as they came."""

    sender: str
    recipients: tuple[str, ...]
    subject: str = field(repr=False)
    body: str = field(repr=False)
    message_id: str | None = None
    in_reply_to: str | None = None
    references: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    raw: bytes = field(default=b"", repr=False)
    given: tuple[ArrivedFile, ...] = field(default=(), repr=False)
    """Files as they were read; once they are kept, `files` says what they are."""
    files: tuple[SandboxFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMail:
    email_id: int
    received_us: int
    mail: ReceivedMail


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
        "edits": [_edit_listing(edit) for edit in message.edits],
        "presses": [callback_listing(press) for press in message.presses],
        "attachments": [one.listing() for one in message.files],
    }


def _edit_listing(edit: Edit) -> dict[str, Any]:
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


# What the sandbox's own routes read from a request, and how they answer.

_DEFAULT_LIMIT = 1_000
_MAX_LIMIT = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _ListWindow:
    """Which part of a list was asked for."""

    since: int | None
    limit: int


def answer(body: dict[str, Any], status: int = 200) -> web.Response:
    return web.json_response({"sandbox": True, **body}, status=status)


def invalid(field: str, error: str, code: str) -> ValidationError:
    return ValidationError.of([FieldError(field, error, code)])


def asked_window(request: web.Request) -> _ListWindow:
    since, limit = request.query.get("since"), request.query.get("limit", str(_DEFAULT_LIMIT))
    complaints = []
    if since is not None and not _is_number(since):
        complaints.append(FieldError("since", "must be a number from an earlier listing", "integer_required"))
    if not _is_number(limit) or not 1 <= int(limit) <= _MAX_LIMIT:
        complaints.append(FieldError("limit", f"must be between 1 and {_MAX_LIMIT}", "out_of_range"))
    if complaints:
        raise ValidationError.of(complaints)
    return _ListWindow(since=None if since is None else int(since), limit=int(limit))


async def read_json(request: web.Request) -> object:
    try:
        value: object = json.loads(await request.read())
    except (ValueError, RecursionError):
        raise invalid("body", "must be JSON", "json_required") from None
    return value


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 18


# Files on their way into the sandbox and out of it.

_MAX_UPLOAD_BYTES: Final = 128 * 1_048_576
SHOWN_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_SIGNS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def with_room(request: web.Request) -> web.Request:
    """The same request, which may be as large as a file."""
    return request.clone(client_max_size=_MAX_UPLOAD_BYTES)


def given_file(value: web.FileField) -> ArrivedFile:
    return ArrivedFile(name=value.filename, media_type=value.content_type, content=value.file.read())


def shown(content: bytes, media_type: str) -> web.Response:
    """A picture as a picture, and anything else as bytes to save: nothing in it may run."""
    is_picture = media_type in SHOWN_TYPES
    headers = {
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Content-Disposition": "inline" if is_picture else "attachment",
    }
    kind = media_type if is_picture else "application/octet-stream"
    return web.Response(body=content, content_type=kind, headers=headers)


def picture_type(content: bytes) -> str:
    """What the first bytes say, where they are a picture's."""
    for sign, kind in _SIGNS:
        if content.startswith(sign):
            return kind
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else ""


# One SQLite file of the sandbox with a lock around its one connection, and the bytes of files in it.


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
