"""`POST /v1/notifications:batch`: up to 500 messages from a script, each answered as `POST /v1/notify` answers it."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Request
from fastapi.responses import JSONResponse

from postroom.domain.errors import ValidationError
from postroom.domain.notify_response import argument_error
from postroom.doors.butler.notify_many import MOST_TOGETHER, notify_together, read_batch
from postroom.doors.guard.depends import Caller
from postroom.doors.guard.late_route import LateRoute
from postroom.doors.guard.sender import sender_of
from postroom.doors.scripts.http_answer import http_answer, may_not_send
from postroom.doors.scripts.notify_request import PROPERTIES
from postroom.doors.scripts.sending import Sending

BATCH: Final = "/v1/notifications:batch"
_ITEM: Final = {name: schema for name, schema in PROPERTIES.items() if name != "wait_seconds"}
_FIELDS: Final = ("notifications", "wait_seconds")
_BODY: Final = {
    "type": "object",
    "required": ["notifications"],
    "additionalProperties": False,
    "properties": {
        "notifications": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_TOGETHER,
            "items": {"type": "object", "required": ["message"], "additionalProperties": False, "properties": _ITEM},
        },
        "wait_seconds": {
            **PROPERTIES["wait_seconds"],
            "description": "How long to wait for all outcomes; 0 by default.",
        },
    },
}
_ANSWER: Final = {
    "type": "object",
    "properties": {
        "results": {"type": "array", "items": {"type": "object"}},
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
}
_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    status: {"description": told, "content": {"application/json": {"schema": schema}}}
    for status, told, schema in (
        (200, "Each message was judged; `results` says how, in their order, and `counts` how many of each", _ANSWER),
        (400, "The batch cannot be read, and nothing of it was stored", {"type": "object"}),
        (403, "Neither a butler's nor a program's token", {"type": "object"}),
    )
}


def batch_router(sending: Sending) -> APIRouter:
    router = APIRouter(route_class=LateRoute, tags=["notify"])

    @router.post(
        BATCH,
        operation_id="notify_many",
        summary="Deliver many messages",
        description="With a butler's or a program's token. Each message is judged by itself; those that are accepted "
        "are stored in one commit. With the header Idempotency-Key the whole batch may be repeated.",
        openapi_extra={"requestBody": {"required": True, "content": {"application/json": {"schema": _BODY}}}},
        responses=_RESPONSES,
    )
    async def post(
        request: Request, caller: Caller, idempotency_key: Annotated[str | None, Header(include_in_schema=False)] = None
    ) -> JSONResponse:
        if sender_of(caller) is None:
            return may_not_send(caller)
        try:
            items, patience = _read(await request.body())
        except ValidationError as error:
            return http_answer(argument_error(error))
        keyed = [_keyed(item, idempotency_key, place) for place, item in enumerate(items)]

        async def notify(asked: dict[str, Any]) -> dict[str, Any]:
            return await sending.notify(caller, {**asked, "wait_seconds": patience})

        return JSONResponse(await notify_together(keyed, notify, sending.new_id, tuple(_ITEM)))

    return router


def _read(body: bytes) -> tuple[Any, float]:
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        raise ValidationError("The body is not JSON.") from None
    if not isinstance(asked, dict) or any(name not in _FIELDS for name in asked):
        raise ValidationError('The body must be an object such as {"notifications": [{"message": "Hello"}]}.')
    return read_batch(asked.get("notifications"), asked.get("wait_seconds"))


def _keyed(item: object, key: str | None, place: int) -> object:
    """A key for the batch is one for each message in its place; a message's own key stays."""
    if key is None or not isinstance(item, dict) or item.get("idempotency_key") is not None:
        return item
    return {**item, "idempotency_key": f"{key}:{place}"}
