"""A message as the calls that publish it; pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from postroom.domain.delivery import Intent, Message, Priority
from postroom.domain.errors import ValidationError
from postroom.domain.fields import text_problem
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Revision
from postroom.world.channels.ntfy.actions import TOPIC, actions_of, with_links
from postroom.world.channels.ntfy.call import NtfyCall
from postroom.world.channels.ntfy.files import file_bodies
from postroom.world.channels.ntfy.text import parts_of, title_of

_PRIORITIES: Final = {Priority.HIGH: 4, Priority.MEDIUM: 3, Priority.LOW: 2}
_SILENT: Final = 2  # an edit rings no bell
_TAG: Final = re.compile(r"[\w.-]{1,64}")


def address(text: str) -> str | None:
    """A topic; ntfy tells large and small letters apart."""
    topic = text.strip(" ")
    return topic if TOPIC.fullmatch(topic) else None


def build(message: Message, answers_url: str) -> Sequence[NtfyCall]:
    """Before anything is sent: what can never succeed is refused here."""
    if message.intent is not Intent.SEND:
        raise ValidationError("ntfy has neither replies nor reactions")
    topic = address(message.address)
    if topic is None:
        raise ValidationError("recipient is not an ntfy topic: 1 to 64 letters, digits, - and _")
    if message.revises is not None and message.revises.deletes:
        return _deletes(message.revises, topic)
    _check_text(message)
    text = with_links(message.text, message.markup)
    if message.revises is not None:
        return _edits(message, message.revises, topic, text, answers_url)
    bodies = [_body(message, topic, part) for part in _parts(message, text)]
    _put_buttons(bodies[-1], message, topic, answers_url)
    bodies += file_bodies(message, _body(message, topic, ""))
    files = [None] * (len(bodies) - len(message.attachments)) + list(message.attachments)
    calls = [_call(message.delivery_id, place, body) for place, body in enumerate(bodies)]
    return tuple(replace(call, file=file) for call, file in zip(calls, files, strict=True))


def _parts(message: Message, text: str) -> list[str]:
    """Before files a mark makes no part of its own: it would come where a file was."""
    parts = parts_of(text)
    marked = parts_of(text, repeated=True) if message.repeated else parts
    return parts if message.attachments and len(marked) != len(parts) else marked


def sequence_id(delivery_id: DeliveryId, place: int) -> str:
    """The same part of the same delivery has the same name for ever; it says nothing to those who read the topic."""
    return hashlib.sha256(f"{delivery_id}/{place}".encode()).hexdigest()[:32]


def _edits(message: Message, revises: Revision, topic: str, text: str, answers_url: str) -> Sequence[NtfyCall]:
    """
    Published again under the same names. What had the buttons first: they are to go at once; what the text needs more
    is published after it, and what it needs no more is taken away.
    """
    if not revises.worded:
        raise ValidationError("only what was sent to ntfy can be edited")
    bodies = [_body(message, topic, part) | {"priority": _SILENT} for part in parts_of(text)]
    _put_buttons(bodies[-1], message, topic, answers_url)
    places = _places(revises)
    stand = revises.worded
    changed = [
        _call(revises.delivery_id, places[one], body, is_edit=True) for one, body in zip(stand, bodies, strict=False)
    ]
    *others, last = [*changed, *(_delete(revises, topic, one) for one in stand[len(bodies) :])]
    added = enumerate(bodies[len(stand) :], len(places))
    return (last, *others, *(_call(revises.delivery_id, place, body) for place, body in added))


def _places(revises: Revision) -> dict[str, int]:
    """By which each part has its name on the devices: in the order in which they came."""
    return {one: place for place, one in enumerate((*revises.provider_ids, *revises.more))}


def _deletes(revises: Revision, topic: str) -> Sequence[NtfyCall]:
    if not revises.standing:
        raise ValidationError("only what was sent to ntfy can be deleted")
    return tuple(_delete(revises, topic, one) for one in revises.standing)


def _delete(revises: Revision, topic: str, one: str) -> NtfyCall:
    name = sequence_id(revises.delivery_id, _places(revises)[one])
    return NtfyCall(topic=topic, sequence_id=name, about=one, deletes=True, body={"topic": topic})


def _check_text(message: Message) -> None:
    if message.revises is not None and not message.text:
        raise ValidationError("ntfy cannot change buttons without their message")
    if not message.text.strip():
        raise ValidationError("message must not be blank")
    for name, text in (("message", message.text), ("subject", message.subject or "")):
        if problem := text_problem(text):
            raise ValidationError(f"{name} {problem}")


def _body(message: Message, topic: str, text: str) -> dict[str, Any]:
    body: dict[str, Any] = {"topic": topic, "message": text, "priority": _PRIORITIES[message.priority]}
    speaker = message.origin_butler
    if title := title_of(message.subject or "") or speaker:
        body["title"] = title
    if title != speaker and _TAG.fullmatch(speaker):
        body["tags"] = [speaker]
    return body


def _put_buttons(body: dict[str, Any], message: Message, topic: str, answers_url: str) -> None:
    if message.markup and (actions := actions_of(message.markup, topic, answers_url)):
        body["actions"] = actions


def _call(delivery_id: DeliveryId, place: int, body: dict[str, Any], *, is_edit: bool = False) -> NtfyCall:
    name = sequence_id(delivery_id, place)
    return NtfyCall(topic=body["topic"], sequence_id=name, is_edit=is_edit, body=body | {"sequence_id": name})
