"""notify.v1 and notify_response.v1: what an agent asks for and what it is answered, and the one validator of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, TypedDict

from postroom.kernel.values.errors import (
    CircuitOpenError,
    ErrorClass,
    FieldError,
    InternalError,
    OverloadRejected,
    PostroomError,
    ProviderThrottled,
    ValidationError,
    error_object,
    error_of,
    field_list,
)
from postroom.kernel.values.fields import Fields, without_none
from postroom.kernel.values.ids import DeliveryId, parse_text, record, to_text
from postroom.message.arguments import arguments_of, given, written
from postroom.message.attachment import attachment_object, read_attachments
from postroom.message.channel import Capabilities, KnownChannels
from postroom.message.delivery import Format, Intent, Status
from postroom.message.outgoing import MAX_ADDRESS_CHARACTERS, AnswerStatus, Outcome, Outgoing, RequestContext, refused
from postroom.message.wishes import AUTO, AttentionWish

# What it asks for beyond its text.

_WISH: Final = arguments_of(AttentionWish)
WISH_FIELDS: Final = tuple(_WISH)


def read_wish(fields: Fields) -> AttentionWish | None:
    """None when nothing is asked for; what is wrong is complained about."""
    return AttentionWish(**given(_WISH, fields)) if fields.has_any(WISH_FIELDS) else None


def wish_object(wish: AttentionWish | None) -> dict[str, Any]:
    """What is not asked for is left out."""
    return {} if wish is None else written(_WISH, wish)


# The notify.v1 envelope and its one validator.

NOTIFY_V1: Final = "notify.v1"
MAX_MESSAGE_CHARACTERS: Final = 100_000
MAX_MARKDOWN_CHARACTERS: Final = 20_000  # it is read in one go, and badly nested brackets take their time
MAX_REQUEST_ID_CHARACTERS: Final = 128

BESIDE: Final = {name: one for name, one in arguments_of(Outgoing).items() if one.beside}
_WITHIN: Final = {name: one for name, one in arguments_of(Outgoing).items() if not one.beside}
_FIELDS: Final = frozenset({"schema_version", "origin_butler", "delivery", "request_context", *BESIDE})
_DELIVERY_FIELDS: Final = frozenset({"intent", "channel", "message", "attachments", *_WITHIN, *WISH_FIELDS})
_INTENTS: Final = {str(one): one for one in Intent}
_UNKNOWN: Final = Capabilities()  # of a channel that is complained about already


class Lineage(TypedDict):
    request_id: str
    source_channel: str
    source_endpoint_identity: str
    source_sender_identity: str


class NotifyRequestContextInput(Lineage, total=False):
    """Lineage of the inbound request that a reply or a reaction answers."""

    source_thread_identity: str
    received_at: str


def parse_notify(payload: object, channels: KnownChannels) -> Outgoing:
    """Raises ValidationError listing every field that is wrong."""
    top = Fields(payload, whole="notify_request")
    top.refuse_unknown(_FIELDS)
    top.choice("schema_version", [NOTIFY_V1])
    origin = top.text("origin_butler", maximum=64).strip()
    beside = given(BESIDE, top)

    delivery = top.nested("delivery")
    delivery.refuse_unknown(_DELIVERY_FIELDS)
    intent = delivery.choice("intent", _INTENTS)
    channel = _channel(delivery, intent, channels)
    can = channels.get(channel, _UNKNOWN)
    within = given(_WITHIN, delivery)
    message = _message(delivery, intent, within.get("format"))

    attachments = read_attachments(delivery)
    wish = read_wish(delivery)
    context = _context(top, intent, can)
    if intent == Intent.REACT:
        if attachments:
            delivery.complain("attachments", "a reaction carries no files", "react_attachments")
        if not delivery.has("emoji"):
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
        context=context,
        attachments=attachments,
        wish=wish,
        **within,
        **beside,
    )


def notify_document(outgoing: Outgoing) -> dict[str, Any]:
    """The envelope that says the same; what is not set is left out."""
    delivery: dict[str, Any] = {
        "intent": str(outgoing.intent),
        "channel": outgoing.channel,
        "message": outgoing.message,
        **written(_WITHIN, outgoing),
    }
    if outgoing.attachments:
        delivery["attachments"] = [attachment_object(one) for one in outgoing.attachments]
    context = {"request_context": without_none(asdict(outgoing.context))} if outgoing.context else {}
    return {
        "schema_version": NOTIFY_V1,
        "origin_butler": outgoing.origin_butler,
        "delivery": delivery | wish_object(outgoing.wish),
        **context,
        **written(BESIDE, outgoing),
    }


def _channel(delivery: Fields, intent: str, channels: KnownChannels) -> str:
    if delivery.raw("channel") != AUTO:
        return delivery.choice("channel", channels.keys())
    if intent in (Intent.REPLY, Intent.REACT):
        delivery.complain("channel", "must be the one that is answered on: auto is for sending", "auto_sends_only")
        return ""
    return AUTO


def _message(delivery: Fields, intent: str, format: Format | None) -> str:
    if intent == Intent.REACT:
        return delivery.text("message", maximum=MAX_MESSAGE_CHARACTERS, required=False, blank=True)
    if not delivery.has("message"):
        delivery.complain("message", "is required", "message_required")
        return ""
    maximum = MAX_MARKDOWN_CHARACTERS if format is Format.MARKDOWN else MAX_MESSAGE_CHARACTERS
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


# notify_response.v1: an outcome as it goes over a wire, and as it is read from one.

_ERROR_CLASSES: Final = {str(one): one for one in ErrorClass}
_ANSWERS: Final = {str(one): one for one in AnswerStatus}
_STATUSES: Final = {str(one): one for one in Status}
_WORDS: Final = ("answer", "output", "text", "message")  # what a butler says stands in one of them


def notify_response(outcome: Outcome) -> dict[str, Any]:
    has_reasons = outcome.status in (AnswerStatus.MUTED, AnswerStatus.DEFERRED)
    answer = without_none(
        {
            "schema_version": NOTIFY_RESPONSE_V1,
            "status": str(outcome.status),
            "request_context": {"request_id": outcome.request_id} if outcome.request_id else None,
            "delivery": _delivery(outcome) or None,
            # an action bears the id of the delivery it would release
            "action_id": outcome.delivery_id if outcome.status is AnswerStatus.PENDING_APPROVAL else None,
            "notice_id": outcome.notice_id,
            "notice_state": outcome.notice_state,
            "urgency": outcome.urgency,
            "reasons": list(outcome.reasons) if has_reasons else None,
        }
    )
    if outcome.status is AnswerStatus.DEFERRED:
        return answer | {"until": to_text(outcome.until_us) if outcome.until_us is not None else None}
    if outcome.error is None:
        return answer
    error = error_object(outcome.error) | {"retryable": outcome.retryable}
    return answer | {
        "error": error,
        "error_message": outcome.error.message,
        "error_class": error["class"],
        "retryable": outcome.retryable,
    }


def notify_error(error: PostroomError, *, request_id: str | None = None, channel: str | None = None) -> dict[str, Any]:
    """The answer to something that was not stored."""
    return notify_response(refused(error, request_id=request_id, channel=channel))


def argument_error(error: PostroomError) -> dict[str, Any]:
    """The contract's own shape for a wrong argument: the error is one string."""
    return without_none(
        {
            "status": "error",
            "error": error.message,
            "error_message": error.message,
            "error_class": str(error.error_class),
            "retryable": False,
            "fields": field_list(error.fields) if error.fields else None,
        }
    )


def read_response(answer: Mapping[str, Any]) -> Outcome:
    """Anything but a well-formed answer is an error of ours, never a silent success."""
    delivery, context = _object(answer, "delivery"), _object(answer, "request_context")
    status = _ANSWERS.get(str(answer.get("status")))
    error = _read_error(answer) if status in (None, AnswerStatus.ERROR) else None
    return Outcome(
        status=status or AnswerStatus.ERROR,
        request_id=context.get("request_id"),
        channel=delivery.get("channel"),
        delivery_id=DeliveryId(delivery["delivery_id"]) if delivery.get("delivery_id") else None,
        delivery_status=_STATUSES.get(str(delivery.get("status"))),
        provider_delivery_id=delivery.get("provider_delivery_id"),
        possible_duplicate=bool(delivery.get("possible_duplicate")),
        waiting_reason=delivery.get("waiting_reason"),
        error=error,
        retryable=error is not None and bool(answer.get("retryable", _object(answer, "error").get("retryable"))),
        notice_id=answer.get("notice_id"),
        notice_state=answer.get("notice_state"),
        urgency=answer.get("urgency"),
        until_us=parse_text(answer["until"]) if answer.get("until") else None,
        reasons=tuple(str(reason) for reason in answer.get("reasons") or ()),
    )


def read_routed(answer: Mapping[str, Any]) -> Routed:
    """A route_response.v1; its errors are those of a notify."""
    if answer.get("status") == AnswerStatus.ERROR:
        told = read_response(answer)
        return Routed(error=told.error or InternalError("the butler failed"), retryable=told.retryable)
    result, has_result = _object(answer, "result"), isinstance(answer.get("result"), Mapping)
    words = next((str(result[name]) for name in _WORDS if result.get(name)), "")
    return Routed(
        said=words if has_result else None,
        session_id=str(result.get("session_id") or ""),
        finished=answer.get("status") == AnswerStatus.OK,
    )


def _delivery(outcome: Outcome) -> dict[str, Any]:
    if outcome.delivery_id is None:
        return {"channel": outcome.channel} if outcome.channel else {}
    more = {
        "possible_duplicate": outcome.possible_duplicate or None,
        "waiting_reason": outcome.waiting_reason or None,
    }
    return {
        "channel": outcome.channel,
        "delivery_id": outcome.delivery_id,
        "status": str(outcome.delivery_status),
        "provider_delivery_id": outcome.provider_delivery_id,
    } | without_none(more)


def _read_error(answer: Mapping[str, Any]) -> PostroomError:
    told = answer.get("error")
    if not isinstance(told, Mapping):  # a wrong argument is answered with a sentence
        told = {"class": answer.get("error_class"), "message": told if isinstance(told, str) else ""}
    error_class = _ERROR_CLASSES.get(str(told.get("class")), ErrorClass.INTERNAL)
    message, fields = str(told.get("message", "")), told.get("fields") or answer.get("fields")
    if error_class is ErrorClass.VALIDATION and isinstance(fields, list):
        return ValidationError(message, fields=[_field(one) for one in fields if isinstance(one, Mapping)])
    wait = told.get("retry_after_seconds")
    wait_seconds = float(wait) if isinstance(wait, int | float) else None
    if told.get("type") == CircuitOpenError.wire_type:
        return CircuitOpenError(message, retry_after_seconds=wait_seconds)
    if error_class is ErrorClass.OVERLOAD:
        return OverloadRejected(
            message, limit_type=str(told.get("limit_type", "")), retry_after_seconds=wait_seconds or 0
        )
    if told.get("limit_type") == ProviderThrottled.limit_type:
        return ProviderThrottled(message, retry_after_seconds=wait_seconds)
    error = error_of(error_class, message)
    error.retry_after_seconds = wait_seconds
    return error


def _field(told: Mapping[str, Any]) -> FieldError:
    return FieldError(*(str(told.get(name, "")) for name in ("field", "error", "code")))


def _object(answer: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = answer.get(name)
    return value if isinstance(value, Mapping) else {}


# What a butler made of a route.

NOTIFY_RESPONSE_V1: Final = "notify_response.v1"


@record
class Routed:
    """What a butler made of a route; `said` is there when it has finished, `error` when it did not take it."""

    said: str | None = None
    session_id: str = ""
    finished: bool = False
    error: PostroomError | None = None
    retryable: bool = False


# A text of either format, for where nothing can be styled.


def plain_words(text: str, format: Format) -> str:
    """Plain text to the letter; Markdown as text that reads well and says where its links lead."""
    if format is Format.PLAIN or not text:
        return text
    from postroom.kernel.text.markdown import parse  # costs a plain household nothing
    from postroom.kernel.text.rich import readable

    return readable(parse(text))
