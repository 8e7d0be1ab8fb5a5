"""What the Bot API takes and shows: arguments, keyboards, what we keep in its shapes, and the looks of a text."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from aiohttp import web

from postroom.kernel.http.answers import JsonBody, JsonObject
from postroom.kernel.values.fields import text_problem
from postroom.kernel.values.ids import SECOND_US
from postroom.sandbox.records import (
    ArrivedFile,
    Callback,
    Reaction,
    SandboxFile,
    TelegramMessage,
    given_file,
    with_room,
)

# Arguments of one call: query string, form or JSON, as Telegram takes them.

_INTEGER = re.compile(r"-?[0-9]{1,18}")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class ApiError(Exception):
    """A refusal in Telegram's words; `status` is both the HTTP status and the `error_code`."""

    def __init__(self, status: int, description: str, *, retry_after: int | None = None) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.retry_after = retry_after


def bad_request(words: str) -> ApiError:
    return ApiError(400, f"Bad Request: {words}")


async def read_arguments(request: web.Request) -> Arguments:
    values: JsonBody = dict(request.query)
    if request.content_type in _FORMS:
        form = await with_room(request).post()
        values.update({name: value for name, value in form.items() if isinstance(value, str)})
        return Arguments(
            values, {name: given_file(one) for name, one in form.items() if isinstance(one, web.FileField)}
        )
    if request.can_read_body and (body := await request.read()):
        values.update(_json_object(body))
    return Arguments(values)


@dataclass(frozen=True, slots=True)
class Arguments:
    values: JsonObject
    files: Mapping[str, ArrivedFile] = field(default_factory=dict)

    def raw(self, name: str) -> Any:
        return self.values.get(name)

    def text(self, name: str) -> str:
        value = self.values.get(name, "")
        if not isinstance(value, str) or text_problem(value):
            raise bad_request("strings must be encoded in UTF-8")
        return value

    def integer(self, name: str, default: int) -> int:
        value = self.values.get(name)
        if value is None or value == "":
            return default
        if isinstance(value, bool) or not _INTEGER.fullmatch(str(value)):
            raise bad_request(f"can't parse {name}: an integer is expected")
        return int(value)

    def structure(self, name: str) -> Any:
        """A nested value; forms and query strings carry it as JSON text."""
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value) if value else None
        except (ValueError, RecursionError):
            raise bad_request(f"can't parse {name} JSON object") from None


def _json_object(body: bytes) -> JsonBody:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise bad_request("can't parse JSON object in the request body") from None
    if not isinstance(value, dict):
        raise bad_request("the request body must be a JSON object")
    return value


# Inline keyboards: taken or refused in Telegram's words, and found again by what stands on a button.

_DATA_BYTES: Final = 64
_MOST_BUTTONS: Final = 100
_PLACEHOLDER_CHARACTERS: Final = 64
_STYLES: Final = frozenset({"", "default", "primary", "danger", "success"})


def read_markup(arguments: Arguments) -> JsonObject | None:
    """An empty keyboard is none."""
    markup = arguments.structure("reply_markup")
    if markup is None:
        return None
    if not isinstance(markup, dict):
        raise bad_request("can't parse reply keyboard markup JSON object")
    if "inline_keyboard" in markup:
        _check_keyboard(markup["inline_keyboard"])
        return markup if any(markup["inline_keyboard"]) else None
    placeholder = markup.get("input_field_placeholder", "")
    if not isinstance(placeholder, str) or len(placeholder) > _PLACEHOLDER_CHARACTERS:
        raise bad_request("reply keyboard placeholder is too long")
    return markup


def is_editable(markup: JsonObject | None) -> bool:
    """A message that asks for a reply stays as it is."""
    return markup is None or "inline_keyboard" in markup


def keys(markup: JsonObject | None) -> Iterator[JsonObject]:
    """Every button of a stored keyboard, row by row."""
    for row in (markup or {}).get("inline_keyboard", ()):
        yield from row


def pressed_data(markup: JsonObject | None, wanted: str) -> list[str | None]:
    """What pressing the button says, by its data or by its label; None for one that opens a link."""
    every = list(keys(markup))
    by_data = [key for key in every if key.get("callback_data") == wanted]
    found = by_data or [key for key in every if key["text"] == wanted]
    return [key.get("callback_data") for key in found]


def _check_keyboard(rows: object) -> None:
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise bad_request('field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays')
    if sum(len(row) for row in rows) > _MOST_BUTTONS:
        raise bad_request("reply markup is too long")
    for row in rows:
        for key in row:
            _check_key(key)


def _check_key(key: object) -> None:
    if not isinstance(key, dict):
        raise _wrong_key("InlineKeyboardButton must be an Object")
    if not isinstance(key.get("text"), str):
        raise _wrong_key('Can\'t find field "text"')
    if not key["text"].strip():
        raise bad_request("text buttons are unallowed in the inline keyboard")
    if str(key.get("style") or "").lower() not in _STYLES:
        raise _wrong_key("invalid button style specified")
    _check_action(key.get("url"), key.get("callback_data"))


def _check_action(url: object, data: object) -> None:
    if isinstance(url, str) and url:
        if not _is_web_address(url):
            raise bad_request(f"inline keyboard button URL '{url}' is invalid: Wrong HTTP URL")
    elif not isinstance(data, str) or not data:
        raise _wrong_key("Text buttons are unallowed in the inline keyboard")
    elif len(data.encode("utf-8", "surrogatepass")) > _DATA_BYTES:
        raise bad_request("BUTTON_DATA_INVALID")


def _is_web_address(url: str) -> bool:
    try:
        address = urlsplit(url)
        host = address.hostname or ""
    except ValueError:
        return False
    return address.scheme in ("http", "https", "tg") and (address.scheme == "tg" or "." in host or ":" in host)


def _wrong_key(words: str) -> Exception:
    return bad_request(f"can't parse inline keyboard button: {words}")


# What we keep, in the shapes of Telegram's Bot API.

FILE_ID = "sandbox-file-"
_CHAT_NUMBER = re.compile(r"-?[1-9][0-9]{0,17}")
_CHAT_NAME = re.compile(r"@[A-Za-z][A-Za-z0-9_]{3,31}")


def canonical_chat(value: object) -> str | None:
    """The chat as we keep it, or None when no such chat could exist."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    text = str(value).strip()
    if _CHAT_NUMBER.fullmatch(text):
        return text
    return text.lower() if _CHAT_NAME.fullmatch(text) else None


def bot_user(token: str) -> JsonBody:
    return {
        "id": int(token.partition(":")[0]),
        "is_bot": True,
        "first_name": "Postroom SANDBOX",
        "username": "postroom_sandbox_bot",
        "can_join_groups": False,
        "can_read_all_group_messages": False,
        "supports_inline_queries": False,
    }


def chat_object(chat_id: str) -> JsonBody:
    if chat_id.startswith("@"):
        number = -1_000_000_000_000 - zlib.crc32(chat_id.encode())
        return {"id": number, "type": "channel", "title": "Sandbox channel", "username": chat_id[1:]}
    if chat_id.startswith("-"):
        return {"id": int(chat_id), "type": "group", "title": "Sandbox group"}
    return {"id": int(chat_id), "type": "private", "first_name": "Sandbox person"}


def _person_object(chat_id: str, name: str | None, from_id: int | None = None) -> JsonBody:
    """In a private chat, unless something else is said, the one whose chat it is."""
    number = abs(chat_object(chat_id)["id"]) if from_id is None else from_id
    return {"id": number, "is_bot": False, "first_name": name or "Sandbox person"}


def message_object(message: TelegramMessage, token: str, replied: TelegramMessage | None = None) -> JsonBody:
    person = _person_object(message.place, message.from_name, message.from_id)
    sender = person if message.from_person else bot_user(token)
    shape: JsonBody = {
        "message_id": message.number,
        "from": {key: sender[key] for key in ("id", "is_bot", "first_name", "username") if key in sender},
        "chat": chat_object(message.place),
        "date": message.at_us // SECOND_US,
        **_content(message),
    }
    if message.entities is not None:
        shape["entities"] = message.entities
    if replied is not None:
        shape["reply_to_message"] = message_object(replied, token)
    if "inline_keyboard" in (message.reply_markup or {}):  # of all that can stand there the bot is shown only this
        shape["reply_markup"] = message.reply_markup
    if message.edits:
        shape["edit_date"] = message.edits[-1].edited_us // SECOND_US
    return shape


def _content(message: TelegramMessage) -> JsonBody:
    if not message.files:
        return {"text": message.text}
    said = {"caption": message.text} if message.text else {}
    return said | {name: value for one in message.files for name, value in _file(one).items()}


def _file(one: SandboxFile) -> JsonBody:
    file = {"file_id": f"{FILE_ID}{one.sha256}", "file_unique_id": one.sha256[:16], "file_size": one.size}
    if one.is_photo:
        thumbnail = {"file_id": f"{FILE_ID}small-{one.sha256}", "file_unique_id": f"s{one.sha256[:15]}", "file_size": 1}
        return {"photo": [thumbnail | {"width": 45, "height": 45}, file | {"width": 90, "height": 90}]}
    if one.sent_as in ("voice", "video_note", "sticker"):  # they have no name
        return {one.sent_as: file | {"mime_type": one.media_type}}
    if one.sent_as == "animation":  # stands as a document as well
        named = file | {"file_name": one.name, "mime_type": one.media_type}
        return {"animation": named, "document": named}
    return {one.sent_as or "document": file | {"file_name": one.name, "mime_type": one.media_type}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who really typed a message, and how it came into the chat."""

    is_bot: bool = False
    forwarded: bool = False
    sender_chat_id: str | None = None
    via_bot: bool = False
    album: str | None = None


def typed_object(message: TelegramMessage, token: str, replied: TelegramMessage | None, writer: Writer) -> JsonBody:
    """A message of the person's, as it was written, passed on or posted in the name of a chat."""
    shape = message_object(message, token, replied)
    shape["from"] |= {"is_bot": writer.is_bot}
    if writer.album:
        shape["media_group_id"] = writer.album
    if writer.forwarded:
        origin = {"type": "hidden_user", "sender_user_name": "Somebody else", "date": shape["date"]}
        shape |= {"forward_origin": origin, "forward_date": shape["date"]}
    if writer.sender_chat_id is not None:
        shape["sender_chat"] = chat_object(writer.sender_chat_id)
    if writer.via_bot:
        shape["via_bot"] = {"id": 1, "is_bot": True, "first_name": "Another bot", "username": "another_bot"}
    return shape


def reaction_object(reaction: Reaction, before: str | None) -> JsonBody:
    return {
        "chat": chat_object(reaction.place),
        "message_id": reaction.message_id,
        "user": _person_object(reaction.place, None),
        "date": reaction.at_us // SECOND_US,
        "old_reaction": _emoji_list(before),
        "new_reaction": _emoji_list(reaction.emoji),
    }


def callback_object(callback: Callback, message: TelegramMessage, token: str) -> JsonBody:
    return {
        "id": str(callback.number),
        "from": _person_object(callback.place, None, callback.from_id),
        "message": message_object(message, token),
        "chat_instance": callback.place,
        "data": callback.data,
    }


def _emoji_list(emoji: str | None) -> list[dict[str, str]]:
    return [] if emoji is None else [{"type": "emoji", "emoji": emoji}]


# How parts of a text are to look, as a bot says it: taken or refused in Telegram's words.

MOST_ENTITIES: Final = 100


def read_entities(arguments: Arguments, name: str = "entities") -> tuple[JsonObject, ...] | None:
    """Telegram leaves out those that are too many."""
    entities = arguments.structure(name)
    if not entities:
        return None
    if not isinstance(entities, list) or not all(map(_is_entity, entities)):
        raise bad_request('can\'t parse MessageEntity: Field "offset", "length" and "type" must be given')
    return tuple(entities[:MOST_ENTITIES])


def _is_entity(entity: object) -> bool:
    if not isinstance(entity, dict) or not isinstance(entity.get("type"), str):
        return False
    offset, length = entity.get("offset"), entity.get("length")
    return type(offset) is int and type(length) is int and offset >= 0 and length > 0
