"""How the doors of questions say no: as all others do, with the question that is there when a key is used again."""

from __future__ import annotations

from typing import Any

from fastapi.responses import JSONResponse

from postroom.domain.error_shapes import error_answer, failure_document
from postroom.domain.errors import PostroomError, Refused, ValidationError
from postroom.domain.notify_response import argument_error
from postroom.work.questions.questions import KeyReused, TooManyOpen


def refusal(error: PostroomError) -> dict[str, Any]:
    """For tools."""
    if isinstance(error, ValidationError):
        return argument_error(error) | _existing(error)
    code = {"code": str(error.code)} if isinstance(error, Refused | TooManyOpen) else {}
    return error_answer(error) | {"error_message": error.message} | code


def _existing(error: PostroomError) -> dict[str, str]:
    return {"code": "key_reused", "ask_id": error.ask_id} if isinstance(error, KeyReused) else {}


def reused_key(error: KeyReused) -> JSONResponse:
    """Over HTTP."""
    told = failure_document(error)
    told["error"]["code"] = "key_reused"
    return JSONResponse({**told, **_existing(error)}, status_code=409)
