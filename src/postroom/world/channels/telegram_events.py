"""Telegram's updates as presses and words; one that is neither, or nonsense, is nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.answer_attempt import Flag
from postroom.domain.inbound_event import Press, Words
from postroom.domain.time import seconds

CHANNEL: Final = "telegram"
_FORWARDED: Final = frozenset(
    ["forward_origin", "forward_from", "forward_from_chat", "forward_sender_name", "forward_date"]
)
_AUTOMATIC: Final = frozenset(["is_automatic_forward", "is_from_offline", "via_bot", "sender_business_bot"])


def telegram_event(update: Mapping[str, Any]) -> Press | Words | None:
    query, message = update.get("callback_query"), update.get("message")
    if isinstance(query, Mapping):
        return _press(query)
    return _words(message) if isinstance(message, Mapping) else None


def _press(query: Mapping[str, Any]) -> Press | None:
    """Of a message that is too old only the chat and the number are left; that is enough."""
    data, callback_id, message = query.get("data"), query.get("id"), query.get("message")
    if not isinstance(data, str) or not isinstance(callback_id, str):
        return None
    return Press(
        channel=CHANNEL,
        event_id=f"press:{callback_id}",
        callback_id=callback_id,
        places=_places(message.get("chat")) if isinstance(message, Mapping) else (),
        sender=_sender(query.get("from")),
        token=data,
        flags=frozenset({Flag.BOT}) if _is_bot(query.get("from")) else frozenset(),
    )


def _words(message: Mapping[str, Any]) -> Words | None:
    text, number, chat = message.get("text"), message.get("message_id"), message.get("chat")
    places = _places(chat)
    if not isinstance(text, str) or type(number) is not int or not places:
        return None
    replied, date = message.get("reply_to_message"), message.get("date")
    return Words(
        channel=CHANNEL,
        event_id=f"message:{places[0]}:{number}",
        places=places,
        sender=_sender(message.get("from")),
        message_id=str(number),
        text=text,
        replies_to=str(replied.get("message_id")) if isinstance(replied, Mapping) else None,
        alone=isinstance(chat, Mapping) and chat.get("type") == "private",
        said_at_us=seconds(date) if type(date) is int else None,
        flags=_flags(message),
    )


def _flags(message: Mapping[str, Any]) -> frozenset[Flag]:
    marks = {
        Flag.FORWARDED: bool(_FORWARDED & message.keys()),
        Flag.AUTOMATIC: bool(_AUTOMATIC & message.keys()),
        Flag.ANONYMOUS: "sender_chat" in message,
        Flag.BOT: _is_bot(message.get("from")),
    }
    return frozenset(flag for flag, is_so in marks.items() if is_so)


def _sender(writer: object) -> str | None:
    if not isinstance(writer, Mapping) or type(writer.get("id")) is not int or writer.get("is_bot") is not False:
        return None
    return str(writer["id"])


def _is_bot(writer: object) -> bool:
    return isinstance(writer, Mapping) and writer.get("is_bot") is not False


def _places(chat: object) -> tuple[str, ...]:
    if not isinstance(chat, Mapping) or type(chat.get("id")) is not int:
        return ()
    name = chat.get("username")
    return (str(chat["id"]), *([f"@{name}".lower()] if isinstance(name, str) else []))
