"""Telegram's updates, as what people wrote; an update that is no message, or nonsense, says nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from postroom.domain.inbound_message import Heard, InboundMessage

_NOT_OWN_WORDS: Final = frozenset(
    [
        "forward_origin",
        "forward_from",
        "forward_from_chat",
        "forward_sender_name",
        "forward_date",
        "is_automatic_forward",
        "sender_chat",
        "sender_business_bot",
        "via_bot",
    ]
)


def heard(channel: str, updates: Sequence[Mapping[str, Any]]) -> Heard:
    numbers = [number for update in updates if isinstance(number := update.get("update_id"), int)]
    return Heard(
        messages=[one for update in updates if (one := inbound_message(channel, update)) is not None],
        position=max(numbers) + 1 if numbers else None,
    )


def inbound_message(channel: str, update: Mapping[str, Any]) -> InboundMessage | None:
    message, number = update.get("message"), update.get("update_id")
    if not isinstance(message, Mapping):
        return None
    replied, text = message.get("reply_to_message"), message.get("text")
    return InboundMessage(
        channel=channel,
        number=number if isinstance(number, int) and _is_number(number) else 0,
        message_id=str(message.get("message_id")),
        addresses=_addresses(message.get("chat")),
        sender=_writer(message),
        text=text if isinstance(text, str) else None,
        replies_to=str(replied.get("message_id")) if isinstance(replied, Mapping) else None,
        alone=_is_alone(message),
    )


def _addresses(chat: object) -> tuple[str, ...]:
    if not isinstance(chat, Mapping):
        return ()
    name = chat.get("username")
    return (str(chat.get("id")), *([f"@{name}".lower()] if isinstance(name, str) else []))


def _writer(message: Mapping[str, Any]) -> str | None:
    """The person who wrote this; None for bots, for words of others passed on, and for those who hide behind a chat."""
    writer = message.get("from")
    if not isinstance(writer, Mapping) or type(writer.get("id")) is not int or writer.get("is_bot") is not False:
        return None
    return None if _NOT_OWN_WORDS & message.keys() else str(writer["id"])


def _is_alone(message: Mapping[str, Any]) -> bool:
    chat, sender = message.get("chat"), message.get("from")
    if not isinstance(chat, Mapping) or chat.get("type") != "private" or not _is_number(chat.get("id")):
        return False
    return isinstance(sender, Mapping) and sender.get("is_bot") is False and _is_number(message.get("message_id"))


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
