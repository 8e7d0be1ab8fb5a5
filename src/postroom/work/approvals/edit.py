"""Change a parked message before agreeing to it, through the same validator as everything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.approval import Action, Content
from postroom.domain.capabilities import KnownChannels
from postroom.domain.delivery import Intent
from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.fields import Fields
from postroom.domain.notify import parse_notify
from postroom.domain.ports import Channel
from postroom.work.delivery.prepared import prepared

EDITABLE: Final = ("message", "subject", "emoji", "recipient")


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    content: Content
    fields: tuple[str, ...]


def edited(action: Action, edits: object, channels: Mapping[str, Channel], known: KnownChannels) -> Edited:
    """Raises ValidationError when the result could not have been sent in the first place."""
    if edits is None:
        return Edited(content=action.content, fields=())
    if not channels:
        raise _wrong("edits", "can be made where the messenger runs; here it can be approved as it is", "not_here")
    channel = channels.get(action.content.channel)
    if channel is None:
        raise _wrong("edits", f"no credentials for {action.content.channel} are set", "channel_unavailable")
    fields = Fields(edits, "edits")
    fields.refuse_unknown(EDITABLE)
    fields.finish()
    given = {name: fields.raw(name) for name in EDITABLE if isinstance(edits, Mapping) and name in edits}
    if action.content.revises is not None and "recipient" in given:
        raise _wrong("edits.recipient", "cannot change: the message stands where it was sent", "is_a_correction")
    content = _content(action, given, channel, known)
    prepared(channel, content.to_message(action.id))
    return Edited(content=content, fields=_changed(action.content, content))


def _content(action: Action, given: Mapping[str, Any], channel: Channel, known: KnownChannels) -> Content:
    """The envelope as it would have come, had the sender written it so."""
    before = action.content
    fixed = {"intent": str(before.intent), "channel": before.channel, "format": str(before.format)}
    delivery = {"message": before.message, "subject": before.subject, "emoji": before.emoji, **given, **fixed}
    envelope = {**action.envelope, "delivery": {name: value for name, value in delivery.items() if value is not None}}
    notify = parse_notify(envelope, known)
    return Content(
        channel=before.channel,
        intent=before.intent,
        address=_address(before, notify.recipient, channel),
        thread=before.thread,
        subject=notify.subject,
        message=notify.message,
        emoji=notify.emoji,
        markup=before.markup,
        revises=before.revises,
        format=before.format,
        attachments=before.attachments,
    )


def _address(before: Content, recipient: str | None, channel: Channel) -> str:
    if recipient is None:
        return before.address
    if before.intent is not Intent.SEND:
        raise _wrong("edits.recipient", f"a {before.intent} goes where the message it answers came from", "fixed")
    address = channel.address(recipient)
    if address is None:
        raise _wrong("edits.recipient", f"is not an address on {before.channel}", "not_an_address")
    return address


def _changed(before: Content, after: Content) -> tuple[str, ...]:
    pairs = {
        "message": (before.message, after.message),
        "subject": (before.subject, after.subject),
        "emoji": (before.emoji, after.emoji),
        "recipient": (before.address, after.address),
    }
    return tuple(name for name, (old, new) in pairs.items() if old != new)


def _wrong(field: str, error: str, code: str) -> ValidationError:
    return ValidationError.of([FieldError(field, error, code)])
