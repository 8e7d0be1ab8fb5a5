"""Edits of what was sent to a Telegram chat before: every part of it, or its buttons alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from postroom.domain.delivery import Format, Message, Receipt
from postroom.domain.errors import ValidationError
from postroom.domain.markup import Markup, Revision
from postroom.world.channels.telegram_call import TelegramCall
from postroom.world.channels.telegram_entities import spread_bodies
from postroom.world.channels.telegram_keyboard import NO_KEYBOARD, keyboard, with_links
from postroom.world.channels.telegram_text import spread

DELETE: Final = "deleteMessage"
METHODS: Final = frozenset({"editMessageText", "editMessageCaption", "editMessageReplyMarkup", DELETE})
_MESSAGE_ID = re.compile(r"[1-9][0-9]{0,17}")
_NOT_MODIFIED: Final = "message is not modified"
_ALREADY_GONE: Final = "message to delete not found"
_NO_TEXT: Final = "there is no text in the message to edit"
_AS_CAPTION: Final = {"text": "caption", "entities": "caption_entities"}
_IN_NO_CAPTION: Final = "link_preview_options"


class AlreadySo(ValidationError):
    """The message says just that or is gone, so it was done before, or there was nothing to do."""


class HasCaption(ValidationError):
    """The words to edit stand under a file."""


def edits(message: Message, revises: Revision, chat_id: int | str) -> Sequence[TelegramCall]:
    """The last part first: it has the buttons, and they are to go at once."""
    if revises.deletes:
        gone = [{"chat_id": chat_id, "message_id": number} for number in _numbers(revises)]
        return tuple(TelegramCall(method=DELETE, body=body) for body in gone)
    numbers = _texts_of(_numbers(revises), revises.files)
    under = {"reply_markup": _keyboard(message.markup)}
    last: dict[str, Any] = {"chat_id": chat_id, "message_id": numbers[-1]}
    if not message.text:
        return (TelegramCall(method="editMessageReplyMarkup", body=last | under),)
    *before, end = _shown(message, len(numbers))
    earlier = [
        {"chat_id": chat_id, "message_id": number, **part} for number, part in zip(numbers[:-1], before, strict=True)
    ]
    edited = [last | end | under, *earlier]
    return tuple(TelegramCall(method="editMessageText", body=body) for body in edited)


def _texts_of(numbers: list[int], files: int) -> list[int]:
    """The files came after the texts, and have nothing to edit; a single file has the text as its caption."""
    return numbers[: len(numbers) - files] or numbers[:1]


def is_captioned(call: TelegramCall, status: int, told: Mapping[str, Any]) -> bool:
    return call.method == "editMessageText" and status == 400 and _NO_TEXT in str(told.get("description"))


def of_caption(call: TelegramCall) -> TelegramCall:
    body = {_AS_CAPTION.get(name, name): value for name, value in call.body.items() if name != _IN_NO_CAPTION}
    return TelegramCall(method="editMessageCaption", body=body)


def _shown(message: Message, messages: int) -> list[dict[str, Any]]:
    if message.format is Format.MARKDOWN:
        return spread_bodies(message, messages)
    return [{"text": part} for part in spread(with_links(message.text, message.markup), messages)]


def edit_receipt(call: TelegramCall) -> Receipt:
    """Not the message's own name, under which replies are looked for: that belongs to the delivery that sent it."""
    act = "delete" if call.method == DELETE else "edit"
    return Receipt(f"{act}:{call.body['chat_id']}:{call.body['message_id']}")


def is_unchanged(status: int, told: Mapping[str, Any]) -> bool:
    said = str(told.get("description", "")).lower()
    return status == 400 and (_NOT_MODIFIED in said or _ALREADY_GONE in said)


def _keyboard(markup: Markup | None) -> dict[str, Any]:
    if markup is None:
        return dict(NO_KEYBOARD)
    if markup.force_reply:
        raise ValidationError("an edit cannot ask for a reply")
    return keyboard(markup)


def _numbers(revises: Revision) -> list[int]:
    if not revises.provider_ids or not all(_MESSAGE_ID.fullmatch(one) for one in revises.provider_ids):
        raise ValidationError("only a Telegram message can be edited")
    return [int(one) for one in revises.provider_ids]
