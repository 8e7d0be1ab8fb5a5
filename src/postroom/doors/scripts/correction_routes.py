"""`POST /v1/deliveries/{id}/revise` and `/recall`: the messenger's tools, under their caller's own token."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Path, Request
from fastapi.responses import JSONResponse
from pydantic import Field

from postroom.domain.correction import LONGEST_REASON, CorrectionStatus
from postroom.doors.guard.http import presented_token
from postroom.doors.guard.json_body import Strict, Text
from postroom.doors.guard.json_door import JsonRoute, failures
from postroom.doors.scripts.http_answer import http_answer

Call = Callable[[str, Mapping[str, Any], float, str], Awaitable[dict[str, Any]]]  # tool, arguments, patience, token

MARGIN_SECONDS: Final = 20.0
_CODES: Final = {
    CorrectionStatus.TOO_LATE: 409,
    CorrectionStatus.ACCEPTED: 202,
    CorrectionStatus.AWAITING_APPROVAL: 202,
}
_ANSWER: Final = {
    "type": "object",
    "required": ["status"],
    "properties": {
        "status": {"type": "string", "enum": [str(one) for one in CorrectionStatus]},
        "revises": {"type": ["string", "null"]},
        "delivery_id": {"type": ["string", "null"]},
        "how": {"type": ["string", "null"], "enum": ["in_place", "edit", "delete", "correction", None]},
        "message": {"type": "string"},
    },
}
_NOT_READ: Final = {  # a body that is no request never reaches the tool
    "type": "object",
    "required": ["ok", "error"],
    "properties": {"ok": {"const": False}, "error": {"type": "object"}},
}
_TOLD: Final = {
    200: "Done: changed or withdrawn in place, edited, deleted, or corrected in the thread",
    202: "Stored: still being tried, or a person must approve the new text first",
    400: "Something about the request is wrong",
    404: "No delivery of yours",
    409: "Too late, or the key was used for another correction",
    429: "Too many messages; Retry-After says when there is room",
}


def _schema(status: int) -> dict[str, Any]:
    return _ANSWER if status < 400 else {"anyOf": [_ANSWER, _NOT_READ]}


_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    **failures(401, 422, 503),
    **{
        status: {"description": told, "content": {"application/json": {"schema": _schema(status)}}}
        for status, told in _TOLD.items()
    },
}
DeliveryIdentifier = Annotated[str, Path(max_length=64, description="Of the delivery to correct.")]
Key = Annotated[str | None, Header(include_in_schema=False)]
Patience = Annotated[float, Field(ge=0, le=600)] | None


class ReviseRequest(Strict):
    message: Text
    format: Text | None = None
    subject: Text | None = None
    wait_seconds: Patience = None


class RecallRequest(Strict):
    reason: Annotated[Text, Field(max_length=LONGEST_REASON)] | None = None
    wait_seconds: Patience = None


def correction_router(call: Call, default_wait_seconds: float) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["deliveries"], responses=_RESPONSES)

    async def answer(request: Request, tool: str, asked: dict[str, Any]) -> JSONResponse:
        wait = asked["wait_seconds"] if asked["wait_seconds"] is not None else default_wait_seconds
        given = {name: value for name, value in asked.items() if value is not None}
        told = await call(tool, given, wait + MARGIN_SECONDS, presented_token(request.headers) or "")
        if told["status"] == CorrectionStatus.ERROR:
            return http_answer(told)
        return JSONResponse(told, status_code=_CODES.get(CorrectionStatus(told["status"]), 200))

    @router.post(
        "/v1/deliveries/{delivery_id}/revise",
        operation_id="reviseDelivery",
        summary="Give a message of yours another text: in place, by an edit, or by a correction in its thread",
    )
    async def revise(
        request: Request, delivery_id: DeliveryIdentifier, body: ReviseRequest, idempotency_key: Key = None
    ) -> JSONResponse:
        asked = {"delivery_id": delivery_id, "idempotency_key": idempotency_key, **body.model_dump()}
        return await answer(request, "revise_delivery", asked)

    @router.post(
        "/v1/deliveries/{delivery_id}/recall",
        operation_id="recallDelivery",
        summary="Take a message of yours back: withdraw it, delete it, or say in its thread to disregard it",
    )
    async def recall(
        request: Request, delivery_id: DeliveryIdentifier, body: RecallRequest, idempotency_key: Key = None
    ) -> JSONResponse:
        asked = {"delivery_id": delivery_id, "idempotency_key": idempotency_key, **body.model_dump()}
        return await answer(request, "recall_delivery", asked)

    return router
