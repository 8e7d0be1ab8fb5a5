"""What the sandbox shows and keeps, as plain values that list themselves, and how its routes read and answer."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Final

from aiohttp import web

from postroom.delivery.files.kinds import PICTURES, shown_as_picture
from postroom.kernel.http.answers import JsonObject
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
    """SandboxRecord as a picture by a service that has both."""
    sent_as: str = ""
    """Voice, video and the like, where a service tells them from documents."""

    def listing(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in ("is_photo", "sent_as")}


# What is shown: each kind counts from one, and a record is kept whole, as it shows now.


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRecord(ABC):
    KIND: ClassVar[str]

    number: int = 0
    """Given when it is kept."""
    place: str = ""
    """The chat; all mail is in one place."""
    from_person: bool = False
    at_us: int = 0

    @property
    def about(self) -> int | None:
        """The message it hangs on, and goes with."""
        return None

    @abstractmethod
    def listing(self) -> dict[str, Any]:
        """As the sandbox's own routes list it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What a message said before it was edited."""

    text: str = field(repr=False)
    reply_markup: JsonObject | None = field(default=None, repr=False)
    edited_us: int

    def listing(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "reply_markup": self.reply_markup,
            "edited_at": to_text(self.edited_us),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction(SandboxRecord):
    """One tap; `emoji` is None when the reaction was taken back."""

    KIND = "reaction"

    message_id: int
    emoji: str | None = None

    @property
    def about(self) -> int:
        return self.message_id

    def listing(self) -> dict[str, Any]:
        return {
            "reaction_id": self.number,
            "chat_id": self.place,
            "message_id": self.message_id,
            "emoji": self.emoji,
            "from": "person" if self.from_person else "bot",
            "date": self.at_us // SECOND_US,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback(SandboxRecord):
    """A button the person pressed, and what the bot answered."""

    KIND = "callback"

    message_id: int
    data: str = field(repr=False)
    answer: str | None = field(default=None, repr=False)
    answered_us: int | None = None
    from_id: int | None = None
    is_alert: bool = False

    @property
    def about(self) -> int:
        return self.message_id

    def listing(self) -> dict[str, Any]:
        return {
            "callback_query_id": str(self.number),
            "chat_id": self.place,
            "message_id": self.message_id,
            "data": self.data,
            "date": self.at_us // SECOND_US,
            "answered": self.answered_us is not None,
            "answer": self.answer,
            "alert": self.is_alert,
            "from_id": self.from_id,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramMessage(SandboxRecord):
    KIND = "message"

    text: str = field(repr=False)
    from_name: str | None = None
    from_id: int | None = None
    bot: str = ""
    """Which of the household's bots it is from, or for."""
    reply_to_message_id: int | None = None
    parse_mode: str | None = None
    entities: tuple[JsonObject, ...] | None = field(default=None, repr=False)
    reply_markup: JsonObject | None = field(default=None, repr=False)
    files: tuple[SandboxFile, ...] = ()
    """Then the text is their caption."""
    edits: tuple[Edit, ...] = field(default=(), repr=False)
    taps: tuple[Reaction, ...] = ()
    """At most one of each side."""
    presses: tuple[Callback, ...] = field(default=(), repr=False)
    """The last of them."""
    is_deleted: bool = False
    """Gone from the chat; it stays on record that it was there."""

    @property
    def reactions(self) -> list[str]:
        return [tap.emoji for tap in self.taps if tap.emoji is not None]

    @property
    def earlier_texts(self) -> list[str]:
        """Without the edits that changed the buttons alone."""
        followed = [*(edit.text for edit in self.edits[1:]), self.text]
        return [edit.text for edit, after in zip(self.edits, followed, strict=False) if edit.text != after]

    def listing(self) -> dict[str, Any]:
        return {
            "message_id": self.number,
            "chat_id": self.place,
            "text": self.text,
            "date": self.at_us // SECOND_US,
            "received_at": to_text(self.at_us),
            "reply_to_message_id": self.reply_to_message_id,
            "reactions": self.reactions,
            "earlier_texts": self.earlier_texts,
            "is_deleted": self.is_deleted,
            "parse_mode": self.parse_mode,
            "entities": self.entities,
            "reply_markup": self.reply_markup,
            "from_name": self.from_name,
            "from_id": self.from_id,
            "edits": [edit.listing() for edit in self.edits],
            "presses": [press.listing() for press in self.presses],
            "attachments": [one.listing() for one in self.files],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMail(SandboxRecord):
    """One mail, read; the bytes as they came are kept beside it."""

    KIND = "email"

    sender: str
    recipients: tuple[str, ...]
    subject: str = field(repr=False)
    body: str = field(repr=False)
    message_id: str | None = None
    in_reply_to: str | None = None
    references: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    files: tuple[SandboxFile, ...] = ()

    def listing(self) -> dict[str, Any]:
        """`from` and `to` are the envelope's; what the headers claim is under `headers`."""
        return {
            "id": self.number,
            "from": self.sender,
            "to": ", ".join(self.recipients),
            "recipients": list(self.recipients),
            "subject": self.subject,
            "body": self.body,
            "message_id": self.message_id,
            "in_reply_to": self.in_reply_to,
            "references": self.references,
            "headers": dict(self.headers),
            "attachments": [one.listing() for one in self.files],
            "received_at": to_text(self.at_us),
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


def with_room(request: web.Request) -> web.Request:
    """The same request, which may be as large as a file."""
    return request.clone(client_max_size=_MAX_UPLOAD_BYTES)


def given_file(value: web.FileField) -> ArrivedFile:
    return ArrivedFile(name=value.filename, media_type=value.content_type, content=value.file.read())


def shown(content: bytes, media_type: str) -> web.Response:
    """A picture as a picture, and anything else as bytes to save: nothing in it may run."""
    is_picture = media_type in PICTURES
    headers = {
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Content-Disposition": "inline" if is_picture else "attachment",
    }
    kind = media_type if is_picture else "application/octet-stream"
    return web.Response(body=content, content_type=kind, headers=headers)


def picture_type(content: bytes) -> str:
    return shown_as_picture(content) or ""
