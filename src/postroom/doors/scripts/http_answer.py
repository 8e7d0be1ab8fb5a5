"""The HTTP status of an answer that has a `status` and an `error_class` of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from fastapi.responses import JSONResponse

from postroom.domain.errors import ValidationError
from postroom.domain.notify_response import argument_error
from postroom.domain.principal import Principal

_BY_CLASS: Final = {
    "validation_error": 400,
    "overload_rejected": 429,
    "target_unavailable": 503,
    "timeout": 503,
}
_BY_CODE: Final = {
    "key_reused": 409,
    "already_decided": 409,
    "too_late": 409,
    "unknown_action": 404,
    "unknown_delivery": 404,
}


def http_answer(answer: Mapping[str, Any]) -> JSONResponse:
    return JSONResponse(dict(answer), status_code=http_status(answer), headers=_retry_after(answer))


def may_not_send(caller: Principal) -> JSONResponse:
    told = ValidationError(f"{caller} may not send: a butler's or a program's token may.")
    return JSONResponse(argument_error(told), status_code=403)


def http_status(answer: Mapping[str, Any]) -> int:
    """What is stored and not yet delivered is 202; an error says which by its class, and more exactly by a code."""
    if answer["status"] != "error":
        return 200 if answer["status"] == "ok" else 202
    precise = (_BY_CODE.get(str(item.get("code"))) for item in _fields(answer))
    return next((status for status in precise if status), _BY_CLASS.get(str(answer.get("error_class")), 500))


def _fields(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    error = answer.get("error")
    return list((error if isinstance(error, Mapping) else answer).get("fields", ()))


def _retry_after(answer: Mapping[str, Any]) -> dict[str, str]:
    error = answer.get("error")
    wait = error.get("retry_after_seconds") if isinstance(error, Mapping) else None
    return {"Retry-After": str(max(1, math.ceil(wait)))} if isinstance(wait, int | float) else {}
