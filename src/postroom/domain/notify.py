"""The notify.v1 envelope and its one validator."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any, Final, TypedDict

from postroom.domain.attachment import attachment_object, read_attachments
from postroom.domain.attention_wish import WISH_FIELDS, read_wish, wish_object
from postroom.domain.capabilities import Capabilities, KnownChannels
from postroom.domain.channel_names import AUTO
from postroom.domain.delivery import Format, Intent, OnUncertain, Priority
from postroom.domain.fields import Fields
from postroom.domain.outgoing import Outgoing, RequestContext
from postroom.domain.time import parse_text

NOTIFY_V1: Final = "notify.v1"
MAX_MESSAGE_CHARACTERS: Final = 100_000
MAX_MARKDOWN_CHARACTERS: Final = 20_000  # it is read in one go, and badly nested brackets take their time
MAX_SUBJECT_CHARACTERS: Final = 500
MAX_ADDRESS_CHARACTERS: Final = 320
MAX_REQUEST_ID_CHARACTERS: Final = 128
MAX_KEY_CHARACTERS: Final = 200

_FIELDS: Final = frozenset(
    {"schema_version", "origin_butler", "delivery", "request_context", "idempotency_key", "priority", "on_uncertain"}
)
_DELIVERY_FIELDS: Final = frozenset(
    {"intent", "channel", "message", "recipient", "subject", "emoji", "format", "attachments", *WISH_FIELDS}
)
_CONTEXT_FIELDS: Final = tuple(field.name for field in fields(RequestContext))
_INTENTS: Final = {str(one): one for one in Intent}
_PRIORITIES: Final = {str(one): one for one in Priority}
_FORMATS: Final = {str(one): one for one in Format}
_ON_UNCERTAIN: Final = {str(one): one for one in OnUncertain}
_NO_LINE = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_UNKNOWN: Final = Capabilities()  # of a channel that is complained about already


class _Lineage(TypedDict):
    request_id: str
    source_channel: str
    source_endpoint_identity: str
    source_sender_identity: str


class NotifyRequestContextInput(_Lineage, total=False):
    """Lineage of the inbound request that a reply or a reaction answers."""

    source_thread_identity: str
    received_at: str


def parse_notify(payload: object, channels: KnownChannels) -> Outgoing:
    """Raises ValidationError listing every field that is wrong."""
    top = Fields(payload, whole="notify_request")
    top.refuse_unknown(_FIELDS)
    top.choice("schema_version", [NOTIFY_V1])
    origin = top.text("origin_butler", maximum=64).strip()
    key = top.optional_text("idempotency_key", maximum=MAX_KEY_CHARACTERS)
    priority = top.choice("priority", _PRIORITIES, default=Priority.MEDIUM)
    on_uncertain = top.choice("on_uncertain", _ON_UNCERTAIN, default="")

    delivery = top.nested("delivery")
    delivery.refuse_unknown(_DELIVERY_FIELDS)
    intent = delivery.choice("intent", _INTENTS)
    channel = _channel(delivery, intent, channels)
    can = channels.get(channel, _UNKNOWN)
    format = delivery.choice("format", _FORMATS, default=Format.PLAIN)
    message = _message(delivery, intent, format)
    subject = delivery.optional_text("subject", maximum=MAX_SUBJECT_CHARACTERS)
    if subject and _NO_LINE.search(subject):
        delivery.complain("subject", "must be a single line", "line_break")
    recipient = delivery.optional_text("recipient", maximum=MAX_ADDRESS_CHARACTERS)
    emoji = delivery.optional_text("emoji", maximum=32)

    attachments = read_attachments(delivery)
    wish = read_wish(delivery)
    context = _context(top, intent, can)
    if intent == Intent.REACT:
        if attachments:
            delivery.complain("attachments", "a reaction carries no files", "react_attachments")
        if not emoji and not delivery.has("emoji"):
            delivery.complain("emoji", "is required for a reaction", "react_emoji_required")
        if channel and not can.reacts:
            delivery.complain("intent", f"{channel} has no reactions", "react_unsupported")
    if intent == Intent.REPLY and channel and not can.replies:
        delivery.complain("intent", f"{channel} has no replies", "reply_unsupported")
    top.finish()
    return Outgoing(
        origin_butler=origin,
        intent=_INTENTS[intent],
        channel=channel,
        message=message,
        recipient=recipient,
        subject=subject,
        emoji=emoji,
        context=context,
        idempotency_key=key,
        priority=_PRIORITIES[priority],
        on_uncertain=_ON_UNCERTAIN.get(on_uncertain),
        format=_FORMATS[format],
        attachments=attachments,
        wish=wish,
    )


def notify_document(outgoing: Outgoing) -> dict[str, Any]:
    """The envelope that says the same; what is not set is left out."""
    envelope: dict[str, Any] = {
        "schema_version": NOTIFY_V1,
        "origin_butler": outgoing.origin_butler,
        "delivery": _delivery_document(outgoing),
    }
    if outgoing.context:
        envelope["request_context"] = _given({name: getattr(outgoing.context, name) for name in _CONTEXT_FIELDS})
    if outgoing.idempotency_key is not None:
        envelope["idempotency_key"] = outgoing.idempotency_key
    if outgoing.priority is not Priority.MEDIUM:
        envelope["priority"] = str(outgoing.priority)
    if outgoing.on_uncertain is not None:
        envelope["on_uncertain"] = str(outgoing.on_uncertain)
    return envelope


def _delivery_document(outgoing: Outgoing) -> dict[str, Any]:
    delivery: dict[str, Any] = {
        "intent": str(outgoing.intent),
        "channel": outgoing.channel,
        "message": outgoing.message,
    }
    if outgoing.recipient is not None:
        delivery["recipient"] = outgoing.recipient
    if outgoing.subject is not None:
        delivery["subject"] = outgoing.subject
    if outgoing.emoji is not None:
        delivery["emoji"] = outgoing.emoji
    if outgoing.format is not Format.PLAIN:
        delivery["format"] = str(outgoing.format)
    if outgoing.attachments:
        delivery["attachments"] = [attachment_object(one) for one in outgoing.attachments]
    if outgoing.wish is not None:
        delivery |= wish_object(outgoing.wish)
    return delivery


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _channel(delivery: Fields, intent: str, channels: KnownChannels) -> str:
    if delivery.raw("channel") != AUTO:
        return delivery.choice("channel", channels.keys())
    if intent in (Intent.REPLY, Intent.REACT):
        delivery.complain("channel", "must be the one that is answered on: auto is for sending", "auto_sends_only")
        return ""
    return AUTO


def _message(delivery: Fields, intent: str, format: str) -> str:
    if intent == Intent.REACT:
        return delivery.text("message", maximum=MAX_MESSAGE_CHARACTERS, required=False, blank=True)
    if not delivery.has("message"):
        delivery.complain("message", "is required", "message_required")
        return ""
    maximum = MAX_MARKDOWN_CHARACTERS if format == Format.MARKDOWN else MAX_MESSAGE_CHARACTERS
    return delivery.text("message", maximum=maximum)


def _context(top: Fields, intent: str, can: Capabilities) -> RequestContext | None:
    if not top.has("request_context"):
        if intent in (Intent.REPLY, Intent.REACT):
            top.complain("request_context", f"is required for a {intent}", f"{intent}_context_required")
        return None
    given = top.nested("request_context")
    given.refuse_unknown(NotifyRequestContextInput.__annotations__)
    context = RequestContext(
        request_id=given.text("request_id", maximum=MAX_REQUEST_ID_CHARACTERS).strip(),
        source_channel=given.text("source_channel", maximum=64).strip(),
        source_endpoint_identity=given.text("source_endpoint_identity", maximum=MAX_ADDRESS_CHARACTERS).strip(),
        source_sender_identity=given.text("source_sender_identity", maximum=MAX_ADDRESS_CHARACTERS).strip(),
        source_thread_identity=given.optional_text("source_thread_identity", maximum=1000),
        received_at=given.optional_text("received_at", maximum=64),
    )
    if context.received_at is not None:
        _check_received_at(given, given.raw("received_at"))
    _check_thread(given, intent, can, context.source_thread_identity)
    return context


def _check_received_at(fields: Fields, received_at: str) -> None:
    try:
        parse_text(received_at)
    except (ValueError, OverflowError):
        fields.complain("received_at", "must be an RFC 3339 time with an offset", "rfc3339_string_required")


def _check_thread(fields: Fields, intent: str, can: Capabilities, thread: str | None) -> None:
    form = can.thread_identity
    if intent == Intent.SEND or (intent == Intent.REPLY and form is None):
        return
    name = "source_thread_identity"
    if thread is None:
        if not fields.has(name):
            fields.complain(name, f"is required for a {intent or 'reply'}", f"{intent}_thread_required")
    elif form is not None and form.split(thread) is None:
        fields.complain(name, f"must be {form.words}", "thread_format")
