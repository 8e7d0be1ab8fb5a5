"""What the sandbox keeps, as plain values, and how its own routes list it, read requests and answer."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import FieldError, ValidationError
from postroom.kernel.values.fields import Fields
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


# Faults the sandbox was told to show, as data: which channel they spoil, how, and how many calls.


# Each fault says how many calls it spoils (`times`, -1 = until cleared) and exactly one way to spoil them:
#
#   status                refuse with this code, keep nothing (`retry_after` may go with it)
#   delay_seconds         keep the message at once, answer after the delay
#   mode accept_then_cut  keep the message, then drop the connection without an answer
#        refuse           drop the connection before anything is kept
#        hang             keep nothing and never answer
#
# Faults of one channel are used up in the order they were armed. On Telegram only calls that send something use one
# up: a poll or a credential check does not. The Bot API has read the whole request before it refuses, so its client
# cannot tell `refuse` from `accept_then_cut`. SMTP refuses a new connection before the greeting, or the next mail on
# an old one with 421: there the client can tell.
#
# For e-mail, a `status` that an SMTP server really gives after the data is used as it stands. Anything else is read
# as the HTTP status it looks like: 408, 429 and 5xx become 451 (try again), other 4xx become 550 (never). So 503
# means "out of order for now" on both channels, although SMTP's own 503 is final.

_UNTIL_CLEARED = -1
HANG_LIMIT_SECONDS = 120.0
MAX_ARMED = 1000
_MAX_DELAY_SECONDS = 3600
_MAX_RETRY_AFTER_SECONDS = 86_400
_MAX_TIMES = 1_000_000
_KINDS = ("status", "delay_seconds", "mode")
_SMTP_CODES = frozenset({421, 432, 450, 451, 452, 454, 455, 530, 534, 535, 538, 550, 551, 552, 553, 554, 555, 556})


class FaultChannel(StrEnum):
    TELEGRAM = "telegram"
    EMAIL = "email"


class Mode(StrEnum):
    ACCEPT_THEN_CUT = "accept_then_cut"
    REFUSE = "refuse"
    HANG = "hang"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    channel: str
    times: int = 1
    status: int | None = None
    retry_after: int | None = None
    delay_seconds: float | None = None
    mode: Mode | None = None

    def listing(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


def parse(payload: object, channels: Sequence[str] = tuple(FaultChannel)) -> Fault:
    """Raises ValidationError that carries every complaint."""
    fields = Fields(payload)
    fields.refuse_unknown({"channel", "times", "retry_after", *_KINDS})
    channel = fields.choice("channel", list(channels))
    mode = fields.choice("mode", list(Mode)) if fields.has("mode") else None
    times = _times(fields)
    status = _integer(fields, "status", 400, 599)
    retry_after = _integer(fields, "retry_after", 0, _MAX_RETRY_AFTER_SECONDS)
    delay = _delay(fields)
    _exactly_one_kind(fields)
    fields.finish()
    return Fault(
        channel=channel,
        times=times,
        status=status,
        retry_after=retry_after,
        delay_seconds=delay,
        mode=Mode(mode) if mode else None,
    )


def next_of(armed: Sequence[Fault], channel: str) -> Fault | None:
    return next((fault for fault in armed if fault.channel == channel), None)


def use_up(armed: Sequence[Fault], fault: Fault) -> tuple[Fault, ...]:
    """The list after one call was spoiled by this fault."""
    if fault.times == _UNTIL_CLEARED:
        return tuple(armed)
    place = list(armed).index(fault)
    left = (replace(fault, times=fault.times - 1),) if fault.times > 1 else ()
    return (*armed[:place], *left, *armed[place + 1 :])


def smtp_code(status: int) -> int:
    if status in _SMTP_CODES:
        return status
    return 451 if status >= 500 or status in {408, 429} else 550


class ArmedFaults:
    """The one list all servers take from; `channels` are theirs."""

    def __init__(self, channels: Sequence[str] = tuple(FaultChannel)) -> None:
        self.channels = channels
        self._armed: tuple[Fault, ...] = ()

    def arm(self, fault: Fault) -> None:
        self._armed = (*self._armed, fault)

    def listed(self) -> tuple[Fault, ...]:
        return self._armed

    def clear(self) -> int:
        cleared, self._armed = len(self._armed), ()
        return cleared

    def peek(self, channel: str) -> Fault | None:
        return next_of(self._armed, channel)

    def take(self, channel: str) -> Fault | None:
        fault = self.peek(channel)
        if fault is not None:
            self._armed = use_up(self._armed, fault)
        return fault


def _exactly_one_kind(fields: Fields) -> None:
    given = [name for name in _KINDS if fields.has(name)]
    if not given:
        fields.complain(None, f"needs one of {', '.join(_KINDS)}", "required")
    for name in given[1:]:
        fields.complain(name, f"cannot be combined with {given[0]}", "not_allowed")
    if fields.has("retry_after") and "status" not in given:
        fields.complain("retry_after", "needs status", "not_allowed")


def _times(fields: Fields) -> int:
    if fields.raw("times") == _UNTIL_CLEARED and type(fields.raw("times")) is int:
        return _UNTIL_CLEARED
    times = _integer(fields, "times", 1, _MAX_TIMES)
    return 1 if times is None else times


def _integer(fields: Fields, name: str, lowest: int, highest: int) -> int | None:
    value = fields.raw(name)
    if value is None:
        return None
    if type(value) is not int:
        fields.complain(name, "must be a whole number", "integer_required")
    elif not lowest <= value <= highest:
        fields.complain(name, f"must be between {lowest} and {highest}", "out_of_range")
    else:
        return value
    return None


def _delay(fields: Fields) -> float | None:
    value = fields.raw("delay_seconds")
    if value is None:
        return None
    if type(value) not in (int, float):
        fields.complain("delay_seconds", "must be a number", "number_required")
    elif not 0 < value <= _MAX_DELAY_SECONDS:
        fields.complain("delay_seconds", f"must be above 0 and at most {_MAX_DELAY_SECONDS}", "out_of_range")
    else:
        return float(value)
    return None
