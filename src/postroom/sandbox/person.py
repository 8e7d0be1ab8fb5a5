"""What the person does, read from a request: types, taps, presses, writes a mail."""

from __future__ import annotations

import base64
import binascii
import mimetypes
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.fields import Fields, text_problem
from postroom.sandbox.ledger import SandboxLedger
from postroom.sandbox.records import (
    ArrivedFile,
    Callback,
    Reaction,
    ReceivedMail,
    StoredMail,
    TelegramMessage,
    Writer,
    invalid,
)
from postroom.sandbox.telegram import CAPTION_LIMIT_UTF16, TEXT_LIMIT_UTF16, looks_like_emoji, utf16_units
from postroom.sandbox.telegram_objects import (
    callback_object,
    canonical_chat,
    pressed_data,
    reaction_object,
    typed_object,
)

_MAX_ADDRESS = 320
_MAX_LINE = 998
_MAX_BODY = 500_000
_MAX_DIGITS = 18
_MAX_ID = 10**_MAX_DIGITS
_MAX_LABEL = 256
_MAX_AWAY_SECONDS = 604_800
_MAX_HEADERS = 50
_MOST_FILES = 10
_PHOTOS = ("image/png", "image/jpeg")
_SENT_AS = ("photo", "document", "animation", "audio", "sticker", "video", "video_note", "voice")
_HEADER_NAME = re.compile(r"[!-9;-~]{1,76}")
_WRITER = ("from_id", "from_is_bot", "forwarded", "sender_chat_id", "via_bot")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Typed:
    chat_id: str
    text: str = field(repr=False)
    reply_to_message_id: int | None
    from_name: str | None
    writer: Writer
    files: tuple[_TypedFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _TypedFile:
    """`sent_as` is what the person's app made of it: a photo, a document, a voice note …"""

    file: ArrivedFile
    sent_as: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tapped:
    chat_id: str
    message_id: int
    emoji: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pressed:
    chat_id: str
    message_id: int
    data: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PressedButton:
    """`button` is what stands on it, or the data behind it."""

    message_id: int
    button: str = field(repr=False)
    from_id: int | None


def _read_typed(payload: object) -> _Typed:
    fields = Fields(payload)
    fields.refuse_unknown({"chat_id", "text", "reply_to_message_id", "from_name", "files", *_WRITER})
    files = tuple(_files(fields, "files", _SENT_AS))
    read = _Typed(
        chat_id=_chat(fields),
        text=_text(fields, CAPTION_LIMIT_UTF16 if files else TEXT_LIMIT_UTF16, required=not files),
        reply_to_message_id=_identifier(fields, "reply_to_message_id", required=False),
        from_name=fields.optional_text("from_name", maximum=64),
        writer=Writer(
            from_id=_identifier(fields, "from_id", required=False),
            is_bot=_flag(fields, "from_is_bot"),
            forwarded=_flag(fields, "forwarded"),
            sender_chat_id=_chat(fields, "sender_chat_id") if fields.has("sender_chat_id") else None,
            via_bot=_flag(fields, "via_bot"),
        ),
        files=files,
    )
    fields.finish()
    return read


def _read_tapped(payload: object) -> _Tapped:
    """An empty or absent emoji takes the reaction back."""
    fields = Fields(payload)
    fields.refuse_unknown({"chat_id", "message_id", "emoji"})
    emoji = fields.text("emoji", maximum=32, required=False, blank=True) or None
    if emoji is not None and not looks_like_emoji(emoji):
        fields.complain("emoji", "must be one emoji", "not_allowed")
    read = _Tapped(chat_id=_chat(fields), message_id=_identifier(fields, "message_id") or 0, emoji=emoji)
    fields.finish()
    return read


def _pressed_button(payload: object) -> _PressedButton:
    fields = Fields(payload)
    fields.refuse_unknown({"message_id", "button", "from_id"})
    read = _PressedButton(
        message_id=_identifier(fields, "message_id") or 0,
        button=fields.text("button", maximum=_MAX_LABEL),
        from_id=_identifier(fields, "from_id", required=False),
    )
    fields.finish()
    return read


def away(payload: object) -> float:
    fields = Fields(payload)
    fields.refuse_unknown({"seconds"})
    value = fields.raw("seconds")
    if type(value) not in (int, float) or not 0 < value <= _MAX_AWAY_SECONDS:
        fields.complain("seconds", f"must be a number above 0 and at most {_MAX_AWAY_SECONDS}", "out_of_range")
    fields.finish()
    return float(value)


def _read_pressed(payload: object) -> _Pressed:
    fields = Fields(payload)
    fields.refuse_unknown({"chat_id", "message_id", "data"})
    read = _Pressed(
        chat_id=_chat(fields),
        message_id=_identifier(fields, "message_id") or 0,
        data=fields.text("data", maximum=64),
    )
    fields.finish()
    return read


def _written(payload: object) -> ReceivedMail:
    fields = Fields(payload)
    fields.refuse_unknown({"from", "to", "subject", "body", "in_reply_to", "headers", "attachments"})
    thread = _line(fields, "in_reply_to", _MAX_LINE, required=False) or None
    mail = ReceivedMail(
        sender=_line(fields, "from", _MAX_ADDRESS),
        recipients=(_line(fields, "to", _MAX_ADDRESS),),
        subject=_line(fields, "subject", _MAX_LINE, required=False),
        body=fields.text("body", maximum=_MAX_BODY, blank=True),
        in_reply_to=thread,
        references=thread,
        headers=_headers(fields),
        given=tuple(one.file for one in _files(fields, "attachments")),
    )
    fields.finish()
    return mail


def _files(fields: Fields, name: str, kinds: tuple[str, ...] = ()) -> list[_TypedFile]:
    """Each `{"name", "data"}` with its bytes in base64, and `media_type` where the name does not say it."""
    given = fields.raw(name)
    if given is None:
        return []
    if not isinstance(given, list) or not 0 < len(given) <= _MOST_FILES:
        fields.complain(name, f"must be a list of 1 to {_MOST_FILES} files", "list_required")
        return []
    return [_file(Fields(one, f"{name}[{number}]", fields.complaints), kinds) for number, one in enumerate(given)]


def _file(fields: Fields, kinds: tuple[str, ...]) -> _TypedFile:
    fields.refuse_unknown({"name", "media_type", "data", *(["as"] if kinds else [])})
    name, data = fields.text("name", maximum=_MAX_LABEL), fields.raw("data")
    media_type = fields.optional_text("media_type", maximum=100) or mimetypes.guess_type(name)[0]
    sent_as = fields.optional_text("as", maximum=20) or ("photo" if media_type in _PHOTOS else "document")
    if kinds and sent_as not in kinds:
        fields.complain("as", f"must be one of {', '.join(kinds)}", "not_allowed")
    try:
        content = base64.b64decode(data if isinstance(data, str) else "!", validate=True)
    except (binascii.Error, ValueError):
        content = b""
        fields.complain("data", "must be the bytes in base64", "base64_required")
    kept = ArrivedFile(name=name, media_type=media_type or "application/octet-stream", content=content)
    return _TypedFile(file=kept, sent_as=sent_as)


def _headers(fields: Fields) -> dict[str, str]:
    given = fields.raw("headers")
    if given is None:
        return {}
    if not isinstance(given, dict) or len(given) > _MAX_HEADERS or not all(map(_is_header, given.items())):
        fields.complain("headers", f"must be at most {_MAX_HEADERS} names, each with one line of text", "invalid_text")
        return {}
    return given


def _is_header(item: tuple[object, object]) -> bool:
    name, value = item
    if not isinstance(name, str) or not _HEADER_NAME.fullmatch(name) or not isinstance(value, str):
        return False
    return len(value) <= _MAX_LINE and text_problem(value) is None and value.splitlines() in ([], [value])


def _chat(fields: Fields, name: str = "chat_id") -> str:
    if not fields.has(name):
        fields.complain(name, "is required", "required")
        return ""
    chat_id = canonical_chat(fields.raw(name))
    if chat_id is None:
        fields.complain(name, "must be a chat number or an @name", "not_allowed")
    return chat_id or ""


def _flag(fields: Fields, name: str) -> bool:
    value = fields.raw(name)
    if value is not None and not isinstance(value, bool):
        fields.complain(name, "must be true or false", "boolean_required")
    return value is True


def _text(fields: Fields, most: int, *, required: bool) -> str:
    text = fields.text("text", maximum=most, required=required, blank=not required)
    if utf16_units(text) > most:
        fields.complain("text", f"must have at most {most} UTF-16 units", "too_long")
    return text


def _line(fields: Fields, name: str, maximum: int, *, required: bool = True) -> str:
    text = fields.text(name, maximum=maximum, required=required, blank=not required)
    if text.splitlines() not in ([], [text]):
        fields.complain(name, "must be one line", "invalid_text")
        return ""
    return text


def _identifier(fields: Fields, name: str, *, required: bool = True) -> int | None:
    value = fields.raw(name)
    if value is None:
        if required:
            fields.complain(name, "is required", "required")
        return None
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= _MAX_DIGITS:
        value = int(value)
    if type(value) is not int or not 0 < value < _MAX_ID:
        fields.complain(name, "must be a message id" if "message" in name else "must be an id", "integer_required")
        return None
    return value


# What the person does on the phone and in the mailbox: types, taps, presses, writes.


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPerson:
    """Each act takes what was read of a request, and raises ValidationError that names every wrong field."""

    ledger: SandboxLedger
    clock: Clock
    news: Signal
    token: str

    def type_message(self, payload: object) -> Sequence[TelegramMessage]:
        """Several files at once are a message each, and the words stand with the first."""
        typed = _read_typed(payload)
        more = typed.files[1:]
        album = str(self.clock.now_us()) if more else None
        kept = [self._typed(typed, typed.text, typed.files[:1], album)]
        kept += [self._typed(typed, "", [one], album) for one in more]
        self.news.ring()
        return kept

    def tap(self, payload: object) -> Reaction:
        tapped = _read_tapped(payload)
        message = self._known(tapped.chat_id, tapped.message_id, "message_id")
        before = self.ledger.telegram.reaction_of(message.message_id, from_person=True)
        kept = self.ledger.telegram.react(
            message,
            tapped.emoji,
            from_person=True,
            now_us=self.clock.now_us(),
            announce=lambda reaction: ("message_reaction", reaction_object(reaction, before)),
        )
        self.news.ring()
        return kept

    def press(self, payload: object) -> Callback:
        """Whatever a phone that is not up to date may say."""
        pressed = _read_pressed(payload)
        message = self._known(pressed.chat_id, pressed.message_id, "message_id")
        return self._press(message, pressed.data, None)

    def press_button(self, payload: object) -> Callback:
        """Only what stands under the message now can be pressed, as on a phone that is up to date."""
        pressed = _pressed_button(payload)
        message = self.ledger.telegram.anywhere(pressed.message_id)
        if message is None:
            raise invalid("message_id", "no such message", "not_found")
        found = pressed_data(message.reply_markup, pressed.button)
        if not found:
            raise invalid("button", "no such button under this message", "not_found")
        if len(found) > 1:
            raise invalid("button", "names more than one button: give its callback data", "ambiguous")
        if found[0] is None:
            raise invalid("button", "opens a link and says nothing to the bot", "is_a_link")
        return self._press(message, found[0], pressed.from_id)

    def write(self, payload: object) -> StoredMail:
        mail = _written(payload)
        kept = self.ledger.email.keep(mail, from_person=True, now_us=self.clock.now_us())
        self.news.ring()
        return kept

    def _typed(self, typed: _Typed, text: str, files: Sequence[_TypedFile], album: str | None) -> TelegramMessage:
        replied = None
        if typed.reply_to_message_id is not None:
            replied = self._known(typed.chat_id, typed.reply_to_message_id, "reply_to_message_id")
        return self.ledger.telegram.keep(
            chat_id=typed.chat_id,
            text=text,
            now_us=self.clock.now_us(),
            reply_to=typed.reply_to_message_id,
            from_person=True,
            from_name=typed.from_name,
            from_id=typed.writer.from_id,
            files=[
                replace(self.ledger.files.keep(one.file), is_photo=one.sent_as == "photo", sent_as=one.sent_as)
                for one in files
            ],
            announce=lambda message: ("message", typed_object(message, self.token, replied, typed.writer, album)),
        )

    def _press(self, message: TelegramMessage, data: str, from_id: int | None) -> Callback:
        kept = self.ledger.telegram.press(
            message,
            data,
            now_us=self.clock.now_us(),
            from_id=from_id,
            announce=lambda callback: ("callback_query", callback_object(callback, message, self.token)),
        )
        self.news.ring()
        return kept

    def _known(self, chat_id: str, message_id: int, field: str) -> TelegramMessage:
        message = self.ledger.telegram.message(chat_id, message_id)
        if message is None:
            raise invalid(field, "no such message in this chat", "not_found")
        return message
