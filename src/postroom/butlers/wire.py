"""
notify.v1 between two parts of one household, which may carry what agents cannot set.

Buttons decide things in a person's name, and a revision rewrites what a person was shown: both are the household's
own. They travel in a field beside notify.v1 that its validator does not know, so a door that takes the envelope of a
butler refuses it like any other unknown field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from postroom.kernel.http.answers import JsonObject
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import FieldError, InternalError, PostroomError, ValidationError, error_object
from postroom.kernel.values.fields import Document, Fields, without_none
from postroom.kernel.values.ids import DeliveryId, is_uuid, record, to_text
from postroom.kernel.values.principal import Principal, sender_of
from postroom.message.channel import KnownChannels
from postroom.message.markup import Markup, markup_object, read_markup
from postroom.message.outgoing import Outgoing
from postroom.message.wire import Routed, notify_document, parse_notify, read_routed
from postroom.settings.peer import Peer

_FIELD: Final = "household"
_NO_TEXT: Final = "-"


def document_within(outgoing: Outgoing) -> Document:
    """A plain message is plain notify.v1."""
    document = notify_document(outgoing)
    if outgoing.markup is None and outgoing.revises is None:
        return document
    markup = None if outgoing.markup is None else markup_object(outgoing.markup)
    return document | {_FIELD: {"markup": markup, "revises": outgoing.revises}}


def parse_within(payload: object, channels: KnownChannels) -> Outgoing:
    """Only for callers who are parts of this household themselves."""
    if not isinstance(payload, Mapping) or _FIELD not in payload:
        return parse_notify(payload, channels)
    own = payload[_FIELD]
    if not isinstance(own, Mapping) or own.keys() - {"markup", "revises"}:
        raise _wrong(_FIELD, "must be an object with markup and revises", "object_required")
    markup, revises = _markup(own.get("markup")), _revises(own.get("revises"))
    plain = {name: value for name, value in payload.items() if name != _FIELD}
    if revises is not None and not _message(plain):  # buttons alone are revised without a text
        return replace(parse_notify(_with_text(plain), channels), message="", markup=markup, revises=revises)
    return replace(parse_notify(plain, channels), markup=markup, revises=revises)


def _markup(value: object) -> Markup | None:
    try:
        return None if value is None else read_markup(value)
    except ValueError as error:
        raise _wrong(f"{_FIELD}.markup", f"cannot be read: {error}", "invalid_markup") from None


def _revises(value: object) -> DeliveryId | None:
    if value is None:
        return None
    if not isinstance(value, str) or not is_uuid(value):
        raise _wrong(f"{_FIELD}.revises", "must be the id of a delivery", "uuid_required")
    return DeliveryId(value)


def _message(envelope: Mapping[str, Any]) -> object:
    delivery = envelope.get("delivery")
    return delivery.get("message") if isinstance(delivery, Mapping) else None


def _with_text(envelope: Mapping[str, Any]) -> Document:
    delivery = envelope.get("delivery")
    return {**envelope, "delivery": {**(delivery if isinstance(delivery, Mapping) else {}), "message": _NO_TEXT}}


def _wrong(field: str, error: str, code: str) -> ValidationError:
    return ValidationError.of([FieldError(field, error, code)])


# route.v1: how the switchboard hands work to a butler, and the answers that come back.

ROUTE_V1: Final = "route.v1"
ROUTE_RESPONSE_V1: Final = "route_response.v1"
_CORRECTION_MARGIN_SECONDS: Final = 10.0

_FIELDS: Final = frozenset(
    {"schema_version", "request_context", "input", "subrequest", "target", "source_metadata", "trace_context"}
)
_CONTEXT_FIELDS: Final = frozenset(
    {
        "request_id",
        "received_at",
        "source_channel",
        "source_endpoint_identity",
        "source_sender_identity",
        "source_thread_identity",
        "subrequest_id",
        "segment_id",
        "trace_context",
    }
)
_LINEAGE: Final = {
    "request_id": 128,
    "received_at": 64,
    "source_channel": 64,
    "source_endpoint_identity": 320,
    "source_sender_identity": 320,
    "source_thread_identity": 320,
    "subrequest_id": 128,
    "segment_id": 128,
}
"""What a route takes over from the request it is part of, and how long each may be."""
_INPUT_FIELDS: Final = frozenset({"prompt", "context", "conversation_history"})


@record
class Route:
    request_id: str
    sender: str
    prompt: str
    context: Any
    request_context: Mapping[str, Any]


def notify_request(envelope: Mapping[str, Any]) -> Document:
    return {"prompt": "Deliver the notify request in the context.", "context": {"notify_request": dict(envelope)}}


def correction_request(correction: Mapping[str, Any], who: Principal) -> Document:
    """Revises or recalls a delivery of the caller's; the owner and the operator know every delivery."""
    sender = None if who.is_owner else sender_of(who) or str(who)  # of one who sends nothing, there is none
    context = {"correction_request": dict(correction), "actor": str(who), "sender": sender}
    return {"prompt": "Correct the delivery in the context.", "context": context}


async def routed_by(switchboard: Peer, butler: str, route: Route, timeout_seconds: float) -> Routed:
    """The switchboard knows where each butler lives, and whether it may be sent work."""
    asked = {
        "target_butler": butler,
        "prompt": route.prompt,
        "input_context": route.context,
        "request_context": route.request_context,
    }
    return read_routed(await switchboard.call("route", asked, timeout_seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionHop:
    """Messages are corrected where they leave, which takes the household's own word for who asks."""

    messenger: Peer
    clock: Clock
    mint: Callable[[int], str]

    async def correct(self, who: Principal, correction: JsonObject, wait_seconds: float) -> Document:
        now_us, work = self.clock.now_us(), correction_request(correction, who)
        route = messenger_route(work, request_id=self.mint(now_us), received_at=to_text(now_us), sender=str(who))
        asked = {"route": route, "wait_seconds": wait_seconds}
        answer = await self.messenger.call("route.execute", asked, wait_seconds + _CORRECTION_MARGIN_SECONDS)
        return read_route_response(answer)


def messenger_route(work: Mapping[str, Any], *, request_id: str, received_at: str, sender: str) -> Document:
    """The route of one of these: its sender is the butler, its endpoint the switchboard."""
    return {
        "schema_version": ROUTE_V1,
        "request_context": {
            "request_id": request_id,
            "received_at": received_at,
            "source_channel": "mcp",
            "source_endpoint_identity": "switchboard",
            "source_sender_identity": sender,
        },
        "input": dict(work),
        "target": {"butler": "messenger", "tool": "route.execute"},
    }


def read_lineage(context: object) -> Document:
    """Of the request that a route is part of, as far as the caller names it; raises ValidationError."""
    fields = Fields(context, "request_context")
    fields.refuse_unknown(_CONTEXT_FIELDS)
    found = {name: fields.optional_text(name, maximum=most) for name, most in _LINEAGE.items()}
    fields.finish()
    return without_none(found)


def parse_route(payload: object, butler: str) -> Route:
    """Of a route to this butler."""
    top = Fields(payload, whole="route")
    top.refuse_unknown(_FIELDS)
    top.choice("schema_version", [ROUTE_V1])
    if top.has("target"):
        target = top.nested("target")
        target.refuse_unknown(("butler", "tool"))
        if target.text("butler", maximum=64) not in ("", butler):
            target.complain("butler", f"is not {butler}, which this came to", "other_target")
    context = top.nested("request_context")
    context.refuse_unknown(_CONTEXT_FIELDS)
    request_id = context.text("request_id", maximum=128).strip()
    context.text("received_at", maximum=64)
    context.text("source_channel", maximum=64)
    context.text("source_endpoint_identity", maximum=320)
    sender = context.text("source_sender_identity", maximum=320).strip()
    body = top.nested("input")
    body.refuse_unknown(_INPUT_FIELDS)
    prompt = body.text("prompt", maximum=100_000)
    top.finish()
    raw = top.raw("request_context")
    return Route(
        request_id=request_id, sender=sender, prompt=prompt, context=body.raw("context"), request_context=dict(raw)
    )


def route_error(error: PostroomError, request_context: Mapping[str, Any]) -> Document:
    """The answer to a route that was not carried out."""
    return {
        "schema_version": ROUTE_RESPONSE_V1,
        "request_context": dict(request_context),
        "status": "error",
        "error": error_object(error),
    }


def route_response(
    route_context: Mapping[str, Any] | None,
    notify_response: Mapping[str, Any],
    duration_ms: float,
) -> Document:
    """The messenger's answer: the route's status follows the notify's."""
    inner = str(notify_response["status"])
    answer: Document = {
        "schema_version": ROUTE_RESPONSE_V1,
        "status": inner if inner in ("ok", "error") else "accepted",
        "result": {"notify_response": dict(notify_response)},
        "timing": {"duration_ms": round(duration_ms, 3)},
    }
    if route_context:
        answer["request_context"] = dict(route_context)
    if inner == "error":
        answer["error"] = notify_response["error"]
    return answer


def read_route_response(answer: Mapping[str, Any]) -> Document:
    """Anything but a well-formed answer is an error, never a silent success."""
    result = answer.get("result")
    inner = result.get("notify_response") if isinstance(result, Mapping) else None
    if answer.get("schema_version") != ROUTE_RESPONSE_V1 or not isinstance(inner, Mapping):
        raise InternalError("the messenger's answer is not a route_response.v1")
    return dict(inner)
