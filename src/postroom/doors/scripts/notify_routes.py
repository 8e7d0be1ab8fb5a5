"""`POST /v1/notify`: one message from a script, answered as the `notify` tool answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Request
from fastapi.responses import JSONResponse

from postroom.domain.errors import ValidationError
from postroom.domain.notify_response import argument_error
from postroom.domain.principal import Principal
from postroom.doors.guard.depends import Caller
from postroom.doors.guard.late_route import LateRoute
from postroom.doors.guard.sender import sender_of
from postroom.doors.scripts.http_answer import http_answer, may_not_send
from postroom.doors.scripts.notify_request import PROPERTIES, read_request

Notify = Callable[[Principal, dict[str, Any]], Awaitable[dict[str, Any]]]

_BODY: Final = {"type": "object", "required": ["message"], "additionalProperties": False, "properties": PROPERTIES}
_ANSWER: Final = {
    "type": "object",
    "required": ["status"],
    "properties": {
        "status": {"type": "string", "enum": ["ok", "accepted", "deferred", "muted", "pending_approval", "error"]}
    },
}
_TOLD: Final = {
    200: "Delivered",
    202: "Stored: still being tried, held until its moment, muted by the person, or to be approved first",
    400: "Something about the request is wrong",
    403: "Neither a butler's nor a program's token",
    409: "The key was used for another message",
    429: "Too many messages; Retry-After says when there is room",
    500: "Our own fault",
    503: "The channel or a part of the household cannot be reached",
}
_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    status: {"description": told, "content": {"application/json": {"schema": _ANSWER}}}
    for status, told in _TOLD.items()
}


def notify_router(notify: Notify) -> APIRouter:
    router = APIRouter(route_class=LateRoute, tags=["notify"])

    @router.post(
        "/v1/notify",
        operation_id="notify",
        summary="Deliver a message to a person",
        description="With a butler's or a program's token. The body of every answer is that of the tool `notify`.",
        openapi_extra={"requestBody": {"required": True, "content": {"application/json": {"schema": _BODY}}}},
        responses=_RESPONSES,
    )
    async def post(
        request: Request, caller: Caller, idempotency_key: Annotated[str | None, Header(include_in_schema=False)] = None
    ) -> JSONResponse:
        if sender_of(caller) is None:
            return may_not_send(caller)
        try:
            asked = read_request(await request.body(), idempotency_key)
        except ValidationError as error:
            return http_answer(argument_error(error))
        return http_answer(await notify(caller, asked))

    return router
