"""The `notify` tool of every butler: arguments to a notify.v1 envelope, through the switchboard."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.delivery import Intent
from postroom.domain.errors import DeliveryTimeout, FieldError, PostroomError, TargetUnavailable, ValidationError
from postroom.domain.fields import printable, text_problem
from postroom.domain.notify import NOTIFY_V1, parse_notify
from postroom.domain.notify_response import notify_error
from postroom.ports import Peer

MAX_WAIT_SECONDS: Final = 600.0
_ANSWER_MARGIN_SECONDS: Final = 10.0
_NOTE_SECONDS: Final = 2.0
_NOTED_CHARACTERS: Final = 500
_SHOWN_CHARACTERS: Final = 80
_INTENTS: Final = frozenset(map(str, Intent))


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyArguments:
    """As they came from the model: nothing about them is certain."""

    channel: object = None
    message: object = None
    recipient: object = None
    subject: object = None
    intent: object = "send"
    emoji: object = None
    request_context: object = None
    idempotency_key: object = None
    priority: object = None
    on_uncertain: object = None
    wait_seconds: object = None


def build_envelope(arguments: NotifyArguments, *, origin_butler: str, channels: frozenset[str]) -> dict[str, Any]:
    """Raises ValidationError with the sentence the contract promises."""
    intent = arguments.intent if arguments.intent is not None else "send"
    if intent != Intent.REACT and _is_missing(arguments.message):
        raise ValidationError("Missing required 'message' parameter: say what should be delivered.")
    if not isinstance(arguments.channel, str) or arguments.channel not in channels:
        known = ", ".join(sorted(channels))
        raise ValidationError(f"Unsupported channel {_quoted(arguments.channel)}. Supported channels: {known}.")
    if not isinstance(intent, str) or intent not in _INTENTS:
        raise ValidationError(f"Unsupported intent {_quoted(intent)}. Supported intents: send, reply, react.")
    delivery = {
        "intent": intent,
        "channel": arguments.channel,
        "message": arguments.message if arguments.message is not None else "",
        "recipient": arguments.recipient,
        "subject": arguments.subject,
        "emoji": arguments.emoji,
    }
    envelope = {
        "schema_version": NOTIFY_V1,
        "origin_butler": origin_butler,
        "delivery": {name: value for name, value in delivery.items() if value is not None},
        "request_context": _decoded(arguments.request_context),
        "idempotency_key": arguments.idempotency_key,
        "priority": arguments.priority,
        "on_uncertain": arguments.on_uncertain,
    }
    envelope = {name: value for name, value in envelope.items() if value is not None}
    parse_notify(envelope, channels)
    return envelope


def wait_seconds(asked: object, default: float) -> float:
    if asked is None:
        return default
    if isinstance(asked, bool) or not isinstance(asked, int | float) or not 0 <= asked <= MAX_WAIT_SECONDS:
        limit = f"must be a number of seconds from 0 to {MAX_WAIT_SECONDS:.0f}"
        raise ValidationError.of([FieldError("wait_seconds", limit, "out_of_range")])
    return float(asked)


async def notify(
    arguments: NotifyArguments,
    *,
    origin_butler: str,
    request_id: str,
    channels: frozenset[str],
    switchboard: Peer,
    default_wait_seconds: float,
) -> dict[str, Any]:
    try:
        envelope = build_envelope(arguments, origin_butler=origin_butler, channels=channels)
        wait = wait_seconds(arguments.wait_seconds, default_wait_seconds)
    except ValidationError as error:
        await _note(switchboard, origin_butler, arguments, request_id, error)
        return argument_error(error)
    try:
        return await switchboard.call(
            "deliver",
            {"notify_request": envelope, "request_id": request_id, "wait_seconds": wait},
            wait + _ANSWER_MARGIN_SECONDS,
        )
    except DeliveryTimeout:
        silent = DeliveryTimeout(
            f"the switchboard did not answer within {wait + _ANSWER_MARGIN_SECONDS:.0f} s; it may still be delivered"
        )
        return notify_error(silent, request_id=request_id, channel=str(arguments.channel))
    except TargetUnavailable:
        unreachable = TargetUnavailable("the switchboard cannot be reached; nothing was sent")
        return notify_error(unreachable, request_id=request_id, channel=str(arguments.channel))
    except PostroomError as error:
        return notify_error(error, request_id=request_id, channel=str(arguments.channel))


async def _note(
    switchboard: Peer, origin_butler: str, arguments: NotifyArguments, request_id: str, error: ValidationError
) -> None:
    """Every notify is on the switchboard's record, also one that never becomes an envelope; its words stay here."""
    told = {"channel": arguments.channel, "intent": arguments.intent}
    delivery = {name: text for name, text in told.items() if isinstance(text, str)}
    call = {
        "notify_request": {"origin_butler": origin_butler, "delivery": delivery},
        "request_id": request_id,
        "refusal": error.message[:_NOTED_CHARACTERS],
    }
    with suppress(PostroomError):
        await switchboard.call("deliver", call, _NOTE_SECONDS)


def argument_error(error: ValidationError) -> dict[str, Any]:
    """The contract's own shape for a wrong argument: the error is one string."""
    answer: dict[str, Any] = {
        "status": "error",
        "error": error.message,
        "error_message": error.message,
        "error_class": str(error.error_class),
        "retryable": False,
    }
    if error.fields:
        answer["fields"] = [{"field": item.field, "error": item.error, "code": item.code} for item in error.fields]
    return answer


def _decoded(context: object) -> object:
    """Some runtimes send the object as a JSON string."""
    if not isinstance(context, str):
        return context
    try:
        decoded: object = json.loads(context)
    except (ValueError, RecursionError):
        return context
    return decoded if isinstance(decoded, Mapping) else context


def _is_missing(message: object) -> bool:
    return message is None or (isinstance(message, str) and not message.strip())


def _quoted(value: object) -> str:
    """What was asked for, as far as it can be repeated."""
    if not isinstance(value, str):
        return repr(value)[:_SHOWN_CHARACTERS]
    return f"'{printable(value) if text_problem(value) else value[:_SHOWN_CHARACTERS]}'"
