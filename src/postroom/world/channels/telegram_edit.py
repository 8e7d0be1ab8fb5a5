"""Edits of what was sent to a Telegram chat before: over as many messages as the text needs, or the buttons alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from postroom.domain.delivery import Message, Receipt
from postroom.domain.errors import ValidationError
from postroom.domain.markup import Markup, Revision
from postroom.world.channels.telegram_call import TelegramCall
from postroom.world.channels.telegram_files import BROUGHT, CAPTION_LIMIT, Show, Shown
from postroom.world.channels.telegram_keyboard import NO_KEYBOARD, keyboard
from postroom.world.channels.telegram_text import MISSING, TEXT_LIMIT

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


def edits(message: Message, revises: Revision, chat_id: int | str, show: Show) -> Sequence[TelegramCall]:
    """
    What had the buttons first: they are to go at once. A text that needs more messages than stand there goes on in
    answers to the first, and messages it needs no more are deleted.
    """
    if revises.deletes:
        known = [one for one in revises.standing if not one.startswith(BROUGHT)]
        return [_delete(chat_id, number) for number in _numbers(known)]
    numbers, markup = _numbers(revises.worded), _keyboard(message.markup)
    if not message.text:
        body = {"chat_id": chat_id, "message_id": numbers[-1], "reply_markup": markup}
        return [TelegramCall(method="editMessageReplyMarkup", body=body)]
    shown = show(message, CAPTION_LIMIT if revises.files == len(revises.provider_ids) else TEXT_LIMIT)
    if message.markup or len(shown) <= len(numbers):
        shown[-1] = shown[-1] | {"reply_markup": markup}
    changed = [_edit(chat_id, number, one) for number, one in zip(numbers, shown, strict=False)]
    surplus = [_delete(chat_id, number, or_say=MISSING) for number in numbers[len(shown) :]]
    *others, last = [*changed, *surplus]
    return [last, *others, *(_answer(chat_id, numbers[0], one) for one in shown[len(numbers) :])]


def _edit(chat_id: int | str, number: int, shown: Shown) -> TelegramCall:
    return TelegramCall(method="editMessageText", body={"chat_id": chat_id, "message_id": number, **shown})


def _delete(chat_id: int | str, number: int, or_say: str = "") -> TelegramCall:
    """Telegram deletes only what is young; what is in the way then says as little as can be."""
    instead = _edit(chat_id, number, {"text": or_say, "reply_markup": dict(NO_KEYBOARD)}) if or_say else None
    return TelegramCall(method=DELETE, body={"chat_id": chat_id, "message_id": number}, instead=instead)


def _answer(chat_id: int | str, to: int, shown: Shown) -> TelegramCall:
    about = {"message_id": to, "allow_sending_without_reply": True}
    return TelegramCall(method="sendMessage", body={"chat_id": chat_id, "reply_parameters": about, **shown})


def is_captioned(call: TelegramCall, status: int, told: Mapping[str, Any]) -> bool:
    return call.method == "editMessageText" and status == 400 and _NO_TEXT in str(told.get("description"))


def of_caption(call: TelegramCall) -> TelegramCall:
    body = {_AS_CAPTION.get(name, name): value for name, value in call.body.items() if name != _IN_NO_CAPTION}
    return TelegramCall(method="editMessageCaption", body=body)


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


def _numbers(provider_ids: Sequence[str]) -> list[int]:
    if not provider_ids or not all(_MESSAGE_ID.fullmatch(one) for one in provider_ids):
        raise ValidationError("only a Telegram message can be edited")
    return [int(one) for one in provider_ids]
