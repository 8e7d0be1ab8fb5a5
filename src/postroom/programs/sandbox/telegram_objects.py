"""What we keep, in the shapes of Telegram's Bot API."""

from __future__ import annotations

import json
import re
import zlib
from typing import Any

from postroom.domain.time import SECOND_US
from postroom.programs.sandbox.kept_files import SandboxFile
from postroom.programs.sandbox.records import Callback, Reaction, TelegramMessage, Writer

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


def bot_user(token: str) -> dict[str, Any]:
    return {
        "id": int(token.partition(":")[0]),
        "is_bot": True,
        "first_name": "Postroom SANDBOX",
        "username": "postroom_sandbox_bot",
        "can_join_groups": False,
        "can_read_all_group_messages": False,
        "supports_inline_queries": False,
    }


def chat_object(chat_id: str) -> dict[str, Any]:
    if chat_id.startswith("@"):
        number = -1_000_000_000_000 - zlib.crc32(chat_id.encode())
        return {"id": number, "type": "channel", "title": "Sandbox channel", "username": chat_id[1:]}
    if chat_id.startswith("-"):
        return {"id": int(chat_id), "type": "group", "title": "Sandbox group"}
    return {"id": int(chat_id), "type": "private", "first_name": "Sandbox person"}


def person_object(chat_id: str, name: str | None, from_id: int | None = None) -> dict[str, Any]:
    """In a private chat, unless something else is said, the one whose chat it is."""
    number = abs(chat_object(chat_id)["id"]) if from_id is None else from_id
    return {"id": number, "is_bot": False, "first_name": name or "Sandbox person"}


def message_object(message: TelegramMessage, token: str, replied: TelegramMessage | None = None) -> dict[str, Any]:
    person = person_object(message.chat_id, message.from_name, message.from_id)
    sender = person if message.from_person else bot_user(token)
    shape: dict[str, Any] = {
        "message_id": message.message_id,
        "from": {key: sender[key] for key in ("id", "is_bot", "first_name", "username") if key in sender},
        "chat": chat_object(message.chat_id),
        "date": message.date_us // SECOND_US,
        **_content(message),
    }
    if message.entities is not None:
        shape["entities"] = json.loads(message.entities)
    if replied is not None:
        shape["reply_to_message"] = message_object(replied, token)
    if message.reply_markup is not None:
        shape |= _inline_keyboard(json.loads(message.reply_markup))
    if message.edits:
        shape["edit_date"] = (message.edits[-1].edited_us or message.date_us) // SECOND_US
    return shape


def _content(message: TelegramMessage) -> dict[str, Any]:
    if not message.files:
        return {"text": message.text}
    said = {"caption": message.text} if message.text else {}
    return said | {name: value for one in message.files for name, value in _file(one).items()}


def _file(one: SandboxFile) -> dict[str, Any]:
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


def typed_object(
    message: TelegramMessage, token: str, replied: TelegramMessage | None, writer: Writer, album: str | None = None
) -> dict[str, Any]:
    """A message of the person's, as it was written, passed on or posted in the name of a chat."""
    shape = message_object(message, token, replied) | ({"media_group_id": album} if album else {})
    shape["from"] |= {"is_bot": writer.is_bot} | ({} if writer.from_id is None else {"id": writer.from_id})
    if writer.forwarded:
        origin = {"type": "hidden_user", "sender_user_name": "Somebody else", "date": shape["date"]}
        shape |= {"forward_origin": origin, "forward_date": shape["date"]}
    if writer.sender_chat_id is not None:
        shape["sender_chat"] = chat_object(writer.sender_chat_id)
    if writer.via_bot:
        shape["via_bot"] = {"id": 1, "is_bot": True, "first_name": "Another bot", "username": "another_bot"}
    return shape


def reaction_object(reaction: Reaction, before: str | None) -> dict[str, Any]:
    return {
        "chat": chat_object(reaction.chat_id),
        "message_id": reaction.message_id,
        "user": person_object(reaction.chat_id, None),
        "date": reaction.date_us // SECOND_US,
        "old_reaction": _emoji_list(before),
        "new_reaction": _emoji_list(reaction.emoji),
    }


def callback_object(callback: Callback, message: TelegramMessage, token: str) -> dict[str, Any]:
    return {
        "id": str(callback.callback_id),
        "from": person_object(callback.chat_id, None, callback.from_id),
        "message": message_object(message, token),
        "chat_instance": callback.chat_id,
        "data": callback.data,
    }


def _inline_keyboard(markup: dict[str, Any]) -> dict[str, Any]:
    """Of all that can stand under a message, the bot is shown only this."""
    return {"reply_markup": markup} if "inline_keyboard" in markup else {}


def _emoji_list(emoji: str | None) -> list[dict[str, str]]:
    return [] if emoji is None else [{"type": "emoji", "emoji": emoji}]
