"""Telegram's updates, as what people wrote, pressed and sent; one that is none of it, or nonsense, says nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import quote

from postroom.channels.provider import ProviderApi
from postroom.channels.shared import with_ending
from postroom.kernel.http.answers import JsonObject, as_object, objects_in
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import seconds
from postroom.message.inbound import Flag, InboundEvent, InboundFile, InboundMessage, Listened, Press

_MOST_UPDATES: Final = 100  # more than these wait for the next request
_FORWARDED: Final = frozenset(
    ["forward_origin", "forward_from", "forward_from_chat", "forward_sender_name", "forward_date"]
)
_AUTOMATIC: Final = frozenset(["is_automatic_forward", "is_from_offline", "via_bot", "sender_business_bot"])


def listened(channel: str, updates: Sequence[JsonObject], own_name: str | None = None) -> Listened:
    """`own_name` is the bot's, by which it is called in a group."""
    numbers = [number for update in updates if isinstance(number := update.get("update_id"), int)]
    albums: dict[tuple[str, str], int] = {}
    events: list[InboundEvent] = []
    for update in updates:
        event, album = inbound_event(channel, update, own_name), album_of(update)
        if album is not None and isinstance(event, InboundMessage):
            if album in albums and isinstance(before := events[albums[album]], InboundMessage):
                both = replace(before, text=before.text or event.text, offers=before.offers + event.offers)
                events[albums[album]] = both  # the words stand with any one of them
                continue
            albums[album] = len(events)
        if event is not None:
            events.append(event)
    return Listened(
        events=events,
        position=max(numbers) + 1 if numbers else None,
        everything=len(updates) < _MOST_UPDATES,
    )


def album_of(update: JsonObject) -> tuple[str, str] | None:
    """Several photos that a person sent at once come one by one, under one name."""
    message = as_object(update.get("message"))
    name = message.get("media_group_id")
    return (str(_places(message.get("chat"))[:1]), name) if name else None


def is_in_group(update: JsonObject) -> bool:
    return as_object(as_object(update.get("message")).get("chat")).get("type") in ("group", "supergroup")


def inbound_event(channel: str, update: JsonObject, own_name: str | None = None) -> InboundEvent | None:
    query, message = update.get("callback_query"), update.get("message")
    if isinstance(query, Mapping):
        return _press(channel, query)
    number = update.get("update_id")
    if not isinstance(message, Mapping):
        return None
    return _message(channel, number if _is_number(number) else 0, message, own_name)


def _press(channel: str, query: JsonObject) -> Press | None:
    """Of a message that is too old only the chat and the number are left; that is enough."""
    data, callback_id, message = query.get("data"), query.get("id"), query.get("message")
    if not isinstance(data, str) or not isinstance(callback_id, str):
        return None
    return Press(
        channel=channel,
        event_id=f"press:{callback_id}",
        callback_id=callback_id,
        places=_places(as_object(message).get("chat")),
        sender=_sender(query.get("from")),
        token=data,
        message_id=str(message.get("message_id")) if isinstance(message, Mapping) else None,
        flags=frozenset({Flag.BOT}) if _is_bot(query.get("from")) else frozenset(),
    )


def _message(channel: str, number: Any, message: JsonObject, own_name: str | None) -> InboundMessage | None:
    places, date = _places(message.get("chat")), message.get("date")
    replied, text = message.get("reply_to_message"), message.get("text", message.get("caption"))
    if not places:
        return None
    return InboundMessage(
        channel=channel,
        number=number,
        message_id=str(message.get("message_id")),
        places=places,
        sender=_sender(message.get("from")),
        text=_without_name(text, own_name) if isinstance(text, str) else None,
        replies_to=str(replied.get("message_id")) if isinstance(replied, Mapping) else None,
        alone=_is_alone(message),
        addressed=isinstance(text, str) and _names(text, own_name),
        said_at_us=seconds(date) if isinstance(date, int) and _is_number(date) else None,
        flags=_flags(message),
        offers=_offers(message),
    )


def _names(text: str, own_name: str | None) -> bool:
    return own_name is not None and re.search(rf"@{re.escape(own_name)}\b", text, re.IGNORECASE) is not None


def _without_name(text: str, own_name: str | None) -> str:
    """The bot's own name before the words is not part of them."""
    return re.sub(rf"^\s*@{re.escape(own_name)}\b[\s,:]*", "", text, flags=re.IGNORECASE) if own_name else text


def _flags(message: JsonObject) -> frozenset[Flag]:
    marks = {
        Flag.FORWARDED: bool(_FORWARDED & message.keys()),
        Flag.AUTOMATIC: bool(_AUTOMATIC & message.keys()),
        Flag.ANONYMOUS: "sender_chat" in message,
        Flag.BOT: _is_bot(message.get("from")),
    }
    return frozenset(flag for flag, is_so in marks.items() if is_so)


def _sender(writer: object) -> str | None:
    if not isinstance(writer, Mapping) or not _is_number(writer.get("id")) or _is_bot(writer):
        return None
    return str(writer["id"])


def _is_bot(writer: object) -> bool:
    return isinstance(writer, Mapping) and writer.get("is_bot") is not False


def _places(chat: object) -> tuple[str, ...]:
    chat = as_object(chat)
    if not _is_number(chat.get("id")):
        return ()
    name = chat.get("username")
    return (str(chat["id"]), *([f"@{name}".lower()] if isinstance(name, str) else []))


def _is_alone(message: JsonObject) -> bool:
    chat, sender = as_object(message.get("chat")), as_object(message.get("from"))
    if chat.get("type") != "private" or not _is_number(chat.get("id")):
        return False
    return sender.get("is_bot") is False and _is_number(message.get("message_id"))


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# What people send to a bot besides words, and how it is fetched: `getFile`, then the file itself.

_MOST_BYTES: Final = 20 * 1024 * 1024
"""Telegram hands a bot nothing larger."""
_TOO_LARGE: Final = "it is larger than the 20 MB that Telegram gives to a bot"
_KINDS: Final = ("animation", "document", "video", "audio", "voice", "video_note", "sticker")

_Calls = Callable[[str, JsonObject, float], Awaitable[JsonObject]]


def _offers(message: JsonObject) -> tuple[InboundFile, ...]:
    """A photo comes in several sizes, the largest of which is meant; an animation stands as a document as well."""
    if sizes := objects_in(message.get("photo")):
        return _offer("photo", max(sizes, key=_area_and_size))
    kind = next((one for one in _KINDS if isinstance(message.get(one), Mapping)), None)
    return _offer(kind, message[kind]) if kind else ()


def _offer(kind: str, told: JsonObject) -> tuple[InboundFile, ...]:
    if not isinstance(told.get("file_id"), str):
        return ()
    name, size = told.get("file_name"), told.get("file_size")
    usual = "image/jpeg" if kind == "photo" else told.get("mime_type")
    return (
        InboundFile(
            reference=told["file_id"],
            name=name if isinstance(name, str) and name else with_ending(kind, usual),
            size=size if isinstance(size, int) else None,
        ),
    )


async def brought(file: InboundFile, call: _Calls, api: ProviderApi, folder: str, ends_at: float) -> InboundFile:
    if file.size is not None and file.size > _MOST_BYTES:
        return replace(file, problem=_TOO_LARGE)
    try:
        told = (await call("getFile", {"file_id": file.reference}, ends_at - time.monotonic())).get("result")
    except ValidationError as error:
        return replace(file, problem=_TOO_LARGE if "too big" in error.message else error.message)
    path = as_object(told).get("file_path")
    if not isinstance(path, str) or not path:
        return replace(file, problem="Telegram did not say where it lies")
    ending = PurePosixPath(path).suffix
    named = file if "." in file.name or not ending else replace(file, name=f"{file.name}{ending}")
    return await api.fetched(named, ends_at - time.monotonic(), f"{folder}/{quote(path)}")


def _area_and_size(told: JsonObject) -> tuple[int, int]:
    return _number(told, "width") * _number(told, "height"), _number(told, "file_size")


def _number(told: JsonObject, name: str) -> int:
    value = told.get(name)
    return value if isinstance(value, int) else 0
