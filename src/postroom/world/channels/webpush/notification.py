"""A message as what a device shows; pure."""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from postroom.domain.delivery import REPEAT_MARK, Intent, Message, Priority
from postroom.domain.errors import ValidationError
from postroom.domain.fields import text_problem
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Button
from postroom.domain.push_device import DEVICE_ID
from postroom.world.channels.carried_files import check_files
from postroom.world.channels.kinds import WEBPUSH
from postroom.world.channels.telegram_text import cut, split
from postroom.world.channels.webpush.encryption import MOST_TEXT_BYTES

READ_MORE: Final = "… open to read more"
_MOST_BUTTONS: Final = WEBPUSH.most_buttons or 0
_TITLE_BYTES: Final = 160
_LABEL_BYTES: Final = 120
_URL_BYTES: Final = 400
_TOKEN_CHARACTERS: Final = 64
_TEXT_BYTES: Final = WEBPUSH.max_units or 0
_URGENCY: Final = {Priority.HIGH: "high", Priority.MEDIUM: "normal", Priority.LOW: "low"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PushCall:
    """
    `topic` names the notification, to the push service and on the device: what comes later under it takes its place.

    What is shown stays out of `repr`.
    """

    device_id: str
    topic: str
    urgency: str
    shown: Mapping[str, Any] = field(repr=False)

    @property
    def written(self) -> bytes:
        return json.dumps(self.shown, ensure_ascii=False, separators=(",", ":")).encode()


def address(text: str) -> str | None:
    """A device's id; what it stands for is kept elsewhere."""
    given = text.strip(" ").lower()
    return given if DEVICE_ID.fullmatch(given) else None


def build(message: Message, account: str) -> Sequence[PushCall]:
    """Before anything is sent: what can never succeed is refused here."""
    device_id = address(message.address)
    if message.intent is not Intent.SEND:
        raise ValidationError("a notification has neither replies nor reactions")
    if device_id is None:
        raise ValidationError("recipient is not a device: its id has 16 characters, 0 to 9 and a to f")
    _check(message)
    about = message.revises.delivery_id if message.revises else message.delivery_id
    call = PushCall(
        device_id=device_id,
        topic=topic_of(about),
        urgency=_URGENCY[message.priority],
        shown=_shown(message, account, about, device_id),
    )
    if len(call.written) > MOST_TEXT_BYTES:
        raise ValidationError("the message is too long for a notification with its title and buttons")
    return (call,)


def topic_of(delivery_id: DeliveryId) -> str:
    """The same delivery has the same name for ever, which says nothing to the push service; it may have 32 letters."""
    return urlsafe_b64encode(hashlib.sha256(delivery_id.encode()).digest()).decode()[:32]


def _check(message: Message) -> None:
    check_files(message, WEBPUSH, None)
    if message.revises is not None and message.revises.deletes:
        raise ValidationError("a notification cannot be deleted, only replaced")
    if not message.text.strip():
        raise ValidationError("message must not be blank")
    for name, text in (("message", message.text), ("subject", message.subject or "")):
        if problem := text_problem(text):
            raise ValidationError(f"{name} {problem}")


def _shown(message: Message, account: str, about: DeliveryId, device_id: str) -> dict[str, Any]:
    pressed, link = _buttons(message)
    shown: dict[str, Any] = {
        "id": f"{message.delivery_id}",
        "tag": topic_of(about),
        "title": _line(message.subject or message.origin_butler or "Postroom", _TITLE_BYTES),
        "body": _text(message),
        "url": link or f"/console/devices/messages/{message.delivery_id}",
    }
    if message.revises is not None:
        shown["silent"] = True
    if pressed:
        actions = [{"title": _line(one.label, _LABEL_BYTES), "token": one.token} for one in pressed]
        shown |= {"actions": actions, "press": f"/channels/{account}/press", "device": device_id}
    return shown


def _text(message: Message) -> str:
    """Cut where it is too long, and says so; the page behind it has the rest."""
    mark = f"\n\n{REPEAT_MARK}" if message.repeated else ""
    if _written_length(text := message.text + mark) <= _TEXT_BYTES:
        return text
    end = READ_MORE + mark
    return split(message.text, _TEXT_BYTES - _written_length(end), _written_length)[0] + end


def _buttons(message: Message) -> tuple[Sequence[Button], str | None]:
    """Those that are pressed, and what a press beside them opens."""
    every = message.markup.every_button if message.markup else ()
    pressed = [one for one in every if one.token is not None]
    if len(pressed) > _MOST_BUTTONS:
        raise ValidationError(f"a notification has at most {_MOST_BUTTONS} buttons")
    if any(len(one.token or "") > _TOKEN_CHARACTERS for one in pressed):
        raise ValidationError(f"a button's token must have 1 to {_TOKEN_CHARACTERS} characters")
    links = [one.url for one in every if one.url is not None and len(one.url.encode()) <= _URL_BYTES]
    return pressed, links[0] if links else None


def _line(text: str, most_bytes: int) -> str:
    if problem := text_problem(text):
        raise ValidationError(f"a button's text {problem}")
    return cut(" ".join(text.split()), most_bytes, _written_length)


def _written_length(text: str) -> int:
    """Between the quotes of JSON, where some characters become several."""
    return len(json.dumps(text, ensure_ascii=False).encode()) - 2
