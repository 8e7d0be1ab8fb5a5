"""Our errors as a caller reads them: one function for each shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postroom.domain.errors import FieldError, PostroomError


def error_object(error: PostroomError) -> dict[str, Any]:
    """The `error` of every answer that has a `status`: notify, route, approvals, calendar, sandbox."""
    shape: dict[str, Any] = {
        "class": str(error.error_class),
        "message": error.message,
        "retryable": error.retryable,
    }
    if error.retry_after_seconds is not None:
        shape["retry_after_seconds"] = round(error.retry_after_seconds, 3)
    if error.limit_type:
        shape["limit_type"] = error.limit_type
    if error.wire_type:
        shape["type"] = error.wire_type
    if error.fields:
        shape["fields"] = field_list(error.fields)
    return shape


def error_answer(error: PostroomError) -> dict[str, Any]:
    """The whole answer of a tool that has no schema of its own."""
    return {
        "status": "error",
        "error": error_object(error),
        "error_class": str(error.error_class),
        "retryable": error.retryable,
    }


def failure_document(error: PostroomError) -> dict[str, Any]:
    """How contacts, intents and the adapters say no, over HTTP and as tools; `error.wire.status` goes with it."""
    return {
        "ok": False,
        "error": {
            "code": str(error.code),
            "message": error.message,
            "category": str(error.wire.category),
            "retryable": error.wire.retryable,
            "fields": field_list(error.fields),
        },
    }


def error_sentence(error: PostroomError) -> dict[str, Any]:
    """The whole answer of the tools that look into the record."""
    return {"error": error.message}


def field_list(fields: Sequence[FieldError]) -> list[dict[str, str]]:
    return [{"field": item.field, "error": item.error, "code": item.code} for item in fields]
