"""How MA2H says no: a status and `{"error": {"code", "message"}}` with a code of its own list (specification, 8.5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from postroom.domain.error_shapes import field_list
from postroom.domain.errors import FieldError, OverloadRejected, PostroomError, ValidationError, sentence
from postroom.domain.field_words import field_error
from postroom.doors.guard.late_route import LateRoute

_STATUS: Final = {
    "validation_error": 400,
    "version_not_supported": 400,
    "unauthenticated": 401,
    "agent_id_mismatch": 403,
    "not_authorized": 403,
    "not_found": 404,
    "idempotency_conflict": 409,
    "already_terminal": 409,
    "invalid_field": 422,
    "rate_limited": 429,
    "unavailable": 503,
}
_BY_STATUS: Final = {status: code for code, status in reversed(_STATUS.items())} | {403: "not_authorized"}
_MOST_FIELDS: Final = 20
TOLD: Final = {
    400: "The envelope is malformed, or its major version is unknown",
    401: "No valid token",
    403: "The token stands for another agent, or may not do this",
    404: "No such message of this caller",
    409: "Another message has this key, or this one has ended before",
    422: "A field cannot be honoured; it is named",
    429: "Too many; Retry-After says when there is room",
    503: "A part of the household cannot be reached",
}


class NotTaken(Exception):
    """A refusal in the protocol's own words; `more` stands beside the error."""

    def __init__(
        self, code: str, message: str, *, fields: Sequence[FieldError] = (), more: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.fields, self.more = code, message, tuple(fields), dict(more or {})


def invalid(field: str, error: str) -> NotTaken:
    return _of("invalid_field", [FieldError(field, error, "invalid_field")])


def malformed(error: ValidationError) -> NotTaken:
    return NotTaken("validation_error", error.message, fields=error.fields)


def not_found() -> NotTaken:
    return NotTaken("not_found", "there is no such message")


def renamed(error: ValidationError, name: Callable[[str], str]) -> NotTaken:
    """What the work refuses, with every field as the caller of this protocol calls it."""
    return _of("invalid_field", [FieldError(name(one.field), one.error, one.code) for one in error.fields])


class MessageRoute(LateRoute):
    """Turns every error of a route into the protocol's shape."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except NotTaken as error:
                return _response(error)
            except (RequestValidationError, HTTPException, PostroomError) as error:
                return _response(_translated(error), _headers(error))

        return answer


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For the OpenAPI document."""
    text = {"type": "string"}
    error = {"type": "object", "required": ["code", "message"], "properties": {"code": text, "message": text}}
    schema = {"type": "object", "required": ["error"], "properties": {"error": error}}
    return {
        status: {"description": TOLD[status], "content": {"application/json": {"schema": schema}}}
        for status in statuses
    }


def _of(code: str, fields: Sequence[FieldError]) -> NotTaken:
    return NotTaken(code, sentence(fields), fields=fields)


def _translated(error: RequestValidationError | HTTPException | PostroomError) -> NotTaken:
    if isinstance(error, HTTPException):
        return NotTaken(_BY_STATUS.get(error.status_code, "validation_error"), str(error.detail))
    if isinstance(error, RequestValidationError):
        return _of("validation_error", [field_error(item) for item in error.errors()[:_MOST_FIELDS]])
    if isinstance(error, OverloadRejected):
        return NotTaken("rate_limited", error.message)
    return NotTaken(_BY_STATUS.get(error.wire.status, "unavailable"), error.message, fields=error.fields)


def _headers(error: Exception) -> dict[str, str]:
    wait = error.retry_after_seconds if isinstance(error, PostroomError) else None
    return {} if wait is None else {"Retry-After": str(max(1, math.ceil(wait)))}


def _response(error: NotTaken, headers: Mapping[str, str] | None = None) -> JSONResponse:
    status = _STATUS[error.code]
    told: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.fields:
        told["fields"] = field_list(error.fields)
    named = {"WWW-Authenticate": 'Bearer realm="postroom"'} if status == 401 else {}
    return JSONResponse({**error.more, "error": told}, status_code=status, headers={**named, **(headers or {})})
