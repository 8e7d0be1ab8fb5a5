"""route.v1: how the switchboard hands work to a butler, and the answers that come back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.error_shapes import error_object
from postroom.domain.errors import InternalError, PostroomError
from postroom.domain.fields import Fields
from postroom.domain.record import record

ROUTE_V1: Final = "route.v1"
ROUTE_RESPONSE_V1: Final = "route_response.v1"
NOTIFY_PROMPT: Final = "Deliver the notify request in the context."
STATUS_PROMPT: Final = "Say what became of the delivery in the context."
CORRECTION_PROMPT: Final = "Correct the delivery in the context."

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
_INPUT_FIELDS: Final = frozenset({"prompt", "context", "conversation_history"})


@record
class Route:
    request_id: str
    sender: str
    prompt: str
    context: Any
    request_context: Mapping[str, Any]


def build_notify_route(*, request_id: str, received_at: str, envelope: Mapping[str, Any]) -> dict[str, Any]:
    """The route that carries a notify: its sender is the butler, its endpoint the switchboard."""
    work = {"prompt": NOTIFY_PROMPT, "context": {"notify_request": dict(envelope)}}
    return _to_messenger(request_id, received_at, envelope["origin_butler"], work)


def build_status_route(*, request_id: str, received_at: str, sender: str, delivery_id: str) -> dict[str, Any]:
    """The route that asks what became of a delivery of the sender's."""
    work = {"prompt": STATUS_PROMPT, "context": {"status_request": {"delivery_id": delivery_id}}}
    return _to_messenger(request_id, received_at, sender, work)


def build_correction_route(
    *, request_id: str, received_at: str, sender: str, correction: Mapping[str, Any]
) -> dict[str, Any]:
    """The route that revises or recalls a delivery of the sender's."""
    work = {"prompt": CORRECTION_PROMPT, "context": {"correction_request": dict(correction)}}
    return _to_messenger(request_id, received_at, sender, work)


def _to_messenger(request_id: str, received_at: str, sender: str, work: Mapping[str, Any]) -> dict[str, Any]:
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


def parse_route(payload: object) -> Route:
    top = Fields(payload, whole="route")
    top.refuse_unknown(_FIELDS)
    top.choice("schema_version", [ROUTE_V1])
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


def route_error(error: PostroomError, request_context: Mapping[str, Any]) -> dict[str, Any]:
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
) -> dict[str, Any]:
    """The messenger's answer: the route's status follows the notify's."""
    inner = str(notify_response["status"])
    answer: dict[str, Any] = {
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


def read_route_response(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Anything but a well-formed answer is an error, never a silent success."""
    result = answer.get("result")
    inner = result.get("notify_response") if isinstance(result, Mapping) else None
    if answer.get("schema_version") != ROUTE_RESPONSE_V1 or not isinstance(inner, Mapping):
        raise InternalError("the messenger's answer is not a route_response.v1")
    return dict(inner)
