"""What the person does on the phone and in the mailbox, read from a request: types, taps, presses, writes a mail."""

from __future__ import annotations

import base64
import binascii
import mimetypes
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from postroom.kernel.text.rich import utf16_length
from postroom.kernel.values.fields import Fields, text_problem
from postroom.sandbox.faults import SandboxParts
from postroom.sandbox.ledger import SandboxLedger
from postroom.sandbox.records import (
    ArrivedFile,
    Callback,
    Reaction,
    ReceivedMail,
    TelegramMessage,
    invalid,
)
from postroom.sandbox.telegram import CAPTION_LIMIT_UTF16, TEXT_LIMIT_UTF16, looks_like_emoji
from postroom.sandbox.telegram_objects import (
    Writer,
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
_GivenFile = tuple[ArrivedFile, str]
"""And what the person's app made of it: a photo, a document, a voice note …"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPerson:
    """Each act takes what was read of a request, and raises ValidationError that names every wrong field."""

    parts: SandboxParts
    token: str

    @property
    def ledger(self) -> SandboxLedger:
        return self.parts.ledger

    def type_message(self, payload: object) -> Sequence[TelegramMessage]:
        """Several files at once are a message each, and the words stand with the first."""
        fields = Fields(payload)
        fields.refuse_unknown({"chat_id", "text", "reply_to_message_id", "from_name", "files", *_WRITER})
        files = _files(fields, "files", _SENT_AS)
        typed = TelegramMessage(
            place=_chat(fields),
            from_person=True,
            at_us=self.parts.clock.now_us(),
            text=_text(fields, CAPTION_LIMIT_UTF16 if files else TEXT_LIMIT_UTF16, required=not files),
            reply_to_message_id=_identifier(fields, "reply_to_message_id", required=False),
            from_name=fields.optional_text("from_name", maximum=64),
            from_id=_identifier(fields, "from_id", required=False),
        )
        writer = Writer(
            is_bot=_flag(fields, "from_is_bot"),
            forwarded=_flag(fields, "forwarded"),
            sender_chat_id=_chat(fields, "sender_chat_id") if fields.has("sender_chat_id") else None,
            via_bot=_flag(fields, "via_bot"),
            album=str(typed.at_us) if len(files) > 1 else None,
        )
        fields.finish()
        replied = None
        if typed.reply_to_message_id is not None:
            replied = self._known(typed.place, typed.reply_to_message_id, "reply_to_message_id")
            typed = replace(typed, bot=replied.bot)  # what answers a message is for the bot that sent it
        kept = [self._keep(typed, next(iter(files), None), replied, writer)]
        kept += [self._keep(replace(typed, text=""), one, replied, writer) for one in files[1:]]
        self.parts.news.ring()
        return kept

    def _keep(
        self, typed: TelegramMessage, given: _GivenFile | None, replied: TelegramMessage | None, writer: Writer
    ) -> TelegramMessage:
        if given is not None:
            file, sent_as = given
            kept = replace(self.ledger.files.keep(file), is_photo=sent_as == "photo", sent_as=sent_as)
            typed = replace(typed, files=(kept,))
        return self.ledger.keep(
            typed, lambda message: ("message", typed_object(message, self.token, replied, writer)), bot=typed.bot
        )

    def tap(self, payload: object) -> Reaction:
        """An empty or absent emoji takes the reaction back."""
        fields = Fields(payload)
        fields.refuse_unknown({"chat_id", "message_id", "emoji"})
        emoji = fields.text("emoji", maximum=32, required=False, blank=True) or None
        if emoji is not None and not looks_like_emoji(emoji):
            fields.complain("emoji", "must be one emoji", "not_allowed")
        chat_id, number = _chat(fields), _identifier(fields, "message_id") or 0
        fields.finish()
        message = self._known(chat_id, number, "message_id")
        before = next((one.emoji for one in message.taps if one.from_person), None)
        kept = self.ledger.react(
            message,
            emoji,
            from_person=True,
            now_us=self.parts.clock.now_us(),
            announce=lambda reaction: ("message_reaction", reaction_object(reaction, before)),
        )
        self.parts.news.ring()
        return kept

    def press(self, payload: object) -> Callback:
        """Whatever a phone that is not up to date may say."""
        fields = Fields(payload)
        fields.refuse_unknown({"chat_id", "message_id", "data"})
        chat_id, number = _chat(fields), _identifier(fields, "message_id") or 0
        data = fields.text("data", maximum=64)
        fields.finish()
        return self._press(self._known(chat_id, number, "message_id"), data, None)

    def press_button(self, payload: object) -> Callback:
        """Only what stands under the message now can be pressed, as on a phone that is up to date."""
        fields = Fields(payload)
        fields.refuse_unknown({"message_id", "button", "from_id"})
        number = _identifier(fields, "message_id") or 0
        button = fields.text("button", maximum=_MAX_LABEL)
        from_id = _identifier(fields, "from_id", required=False)
        fields.finish()
        message = self.ledger.one(TelegramMessage, number)
        if message is None:
            raise invalid("message_id", "no such message", "not_found")
        found = pressed_data(message.reply_markup, button)
        if not found:
            raise invalid("button", "no such button under this message", "not_found")
        if len(found) > 1:
            raise invalid("button", "names more than one button: give its callback data", "ambiguous")
        if found[0] is None:
            raise invalid("button", "opens a link and says nothing to the bot", "is_a_link")
        return self._press(message, found[0], from_id)

    def be_away(self, payload: object) -> None:
        """What waits for the bot becomes so much older, and what has waited for too long is gone."""
        fields = Fields(payload)
        fields.refuse_unknown({"seconds"})
        value = fields.raw("seconds")
        if type(value) not in (int, float) or not 0 < value <= _MAX_AWAY_SECONDS:
            fields.complain("seconds", f"must be a number above 0 and at most {_MAX_AWAY_SECONDS}", "out_of_range")
        fields.finish()
        self.ledger.age(float(value))

    def write(self, payload: object) -> ReceivedMail:
        """A mail that names no Message-ID gets one, so that it can be answered."""
        fields = Fields(payload)
        fields.refuse_unknown({"from", "to", "subject", "body", "in_reply_to", "headers", "attachments"})
        thread = _line(fields, "in_reply_to", _MAX_LINE, required=False) or None
        mail = ReceivedMail(
            from_person=True,
            at_us=self.parts.clock.now_us(),
            sender=_line(fields, "from", _MAX_ADDRESS),
            recipients=(_line(fields, "to", _MAX_ADDRESS),),
            subject=_line(fields, "subject", _MAX_LINE, required=False),
            body=fields.text("body", maximum=_MAX_BODY, blank=True),
            in_reply_to=thread,
            references=thread,
            headers=_headers(fields),
        )
        given = _files(fields, "attachments")
        fields.finish()
        with self.ledger.writing():
            kept = self.ledger.keep(replace(mail, files=tuple(self.ledger.files.keep(file) for file, _ in given)))
            kept = self.ledger.change(replace(kept, message_id=f"<inbound-{kept.number}@sandbox.invalid>"))
        self.parts.news.ring()
        return kept

    def _press(self, message: TelegramMessage, data: str, from_id: int | None) -> Callback:
        kept = self.ledger.press(
            message,
            data,
            from_id=from_id,
            now_us=self.parts.clock.now_us(),
            announce=lambda callback: ("callback_query", callback_object(callback, message, self.token)),
        )
        self.parts.news.ring()
        return kept

    def _known(self, chat_id: str, number: int, field: str) -> TelegramMessage:
        message = self.ledger.one(TelegramMessage, number, chat_id)
        if message is None:
            raise invalid(field, "no such message in this chat", "not_found")
        return message


# What a request says, part by part.


def _files(fields: Fields, name: str, kinds: tuple[str, ...] = ()) -> list[_GivenFile]:
    """Each `{"name", "data"}` with its bytes in base64, and `media_type` where the name does not say it."""
    given = fields.raw(name)
    if given is None:
        return []
    if not isinstance(given, list) or not 0 < len(given) <= _MOST_FILES:
        fields.complain(name, f"must be a list of 1 to {_MOST_FILES} files", "list_required")
        return []
    return [_file(Fields(one, f"{name}[{number}]", fields.complaints), kinds) for number, one in enumerate(given)]


def _file(fields: Fields, kinds: tuple[str, ...]) -> _GivenFile:
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
    return kept, sent_as


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
    if utf16_length(text) > most:
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
