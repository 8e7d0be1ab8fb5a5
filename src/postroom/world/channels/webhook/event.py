"""What a receiver is told: one JSON object for each message, the same bytes at every attempt."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from postroom.domain.attachment import Attachment
from postroom.domain.delivery import REPEAT_MARK, Format, Intent, Message
from postroom.domain.errors import ValidationError
from postroom.domain.fields import text_problem
from postroom.domain.ids import is_uuid, moment_of
from postroom.domain.markup import Button, Revision
from postroom.domain.time import to_text, to_us
from postroom.world.channels.carried_files import plain_name, plain_type
from postroom.world.channels.graphemes import is_single

SENT: Final = "message.sent"
REVISED: Final = "message.revised"
RECALLED: Final = "message.recalled"
LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookCall:
    """
    The id by which a receiver knows a repetition, and the body; the body holds the message and is never shown.

    With `files` it is whole only once their bytes are in it.
    """

    id: str
    body: bytes = field(repr=False)
    files: tuple[Attachment, ...] = field(default=(), repr=False)


def address(text: str) -> str | None:
    """Any name on one line: whom it means is the receiver's business."""
    name = text.strip()
    return name if name and name.isprintable() and len(name) <= LONGEST_NAME else None


def build(message: Message, now: datetime) -> WebhookCall:
    event = {
        "type": _type(message.revises),
        "timestamp": to_text(_accepted_us(message, now)),
        "data": _data(message),
    }
    files = () if message.revises else message.attachments
    return WebhookCall(id=message.delivery_id, body=_written_event(event), files=files)


def with_files(call: WebhookCall, contents: Sequence[bytes]) -> WebhookCall:
    event = json.loads(call.body)
    pairs = zip(call.files, contents, strict=True)
    event["data"]["attachments"] = [_file(one, content) for one, content in pairs]
    return replace(call, body=_written_event(event), files=())


def _file(one: Attachment, content: bytes) -> dict[str, Any]:
    return {
        "name": plain_name(one),
        "media_type": plain_type(one),
        "size": one.size,
        "sha256": one.sha256,
        "data": base64.b64encode(content).decode(),
    }


def _written_event(event: dict[str, Any]) -> bytes:
    return json.dumps(event, ensure_ascii=False).encode()


def _type(revises: Revision | None) -> str:
    if revises is None:
        return SENT
    return RECALLED if revises.deletes else REVISED


def _data(message: Message) -> dict[str, Any]:
    to = address(message.address)
    if to is None:
        raise ValidationError(f"recipient must be a name of one line and at most {LONGEST_NAME} characters")
    return {
        "delivery_id": message.delivery_id,
        "to": to,
        "from": message.origin_butler or None,
        "intent": str(message.intent),
        "message": _text(message),
        "subject": _plain("subject", message.subject),
        "thread": _plain("thread", message.thread),
        "emoji": _emoji(message) if message.intent is Intent.REACT else None,
        "buttons": [_link(button) for button in (message.markup.every_button if message.markup else ())],
        "revises": _revised(message.revises) if message.revises else None,
    } | _written(message)


def _written(message: Message) -> dict[str, str]:
    """Markdown goes out as it was written: how it looks is the receiver's business."""
    return {} if message.format is Format.PLAIN else {"format": str(message.format)}


def _text(message: Message) -> str | None:
    """None where there is nothing to say: a reaction, or an edit that changes only what stands under the words."""
    if message.intent is Intent.REACT or (message.revises and not message.text):
        return None
    if not message.text.strip():
        raise ValidationError("message must not be blank")
    text = _plain("message", message.text)
    return f"{text}\n\n{REPEAT_MARK}" if message.repeated else text


def _plain(name: str, text: str | None) -> str | None:
    if text and (problem := text_problem(text)):
        raise ValidationError(f"{name} {problem}")
    return text or None


def _emoji(message: Message) -> str:
    emoji = (message.emoji or "").strip()
    if not is_single(emoji) or emoji.isascii() or emoji[0].isalnum():
        raise ValidationError("emoji must be exactly one emoji")
    if not message.thread:
        raise ValidationError("the message to react to must be named")
    return emoji


def _link(button: Button) -> dict[str, str]:
    """What a press says to us is for no other eyes, and nothing here could be pressed."""
    if button.url is None:
        raise ValidationError("a button in a webhook must be a link")
    return {"label": button.label, "url": button.url}


def _revised(revision: Revision) -> dict[str, Any]:
    return {"delivery_id": revision.delivery_id, "ids": list(revision.provider_ids)}


def _accepted_us(message: Message, now: datetime) -> int:
    """Our ids say when they were made, so a second attempt needs no second time."""
    return moment_of(message.delivery_id) if is_uuid(message.delivery_id) else to_us(now)
