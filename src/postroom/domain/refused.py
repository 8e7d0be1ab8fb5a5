"""Requests that contacts and intents turn away, each with one code and its meaning on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Final

from postroom.domain.errors import ErrorClass, FieldError, PostroomError


class Code(StrEnum):
    INVALID_JSON = "invalid_json"
    SCHEMA_INVALID = "schema_invalid"
    INVALID_AGENT_ADDRESS = "invalid_agent_address"
    RECIPIENT_REQUIRED = "recipient_required"
    MACRO_INVALID = "macro_invalid"
    IMPORT_INVALID = "import_invalid"
    AUTH_FAILED = "auth_failed"
    POLICY_DENIED = "policy_denied"
    AGENT_NOT_FOUND = "agent_not_found"
    CONTACT_NOT_FOUND = "contact_not_found"
    INTENT_NOT_FOUND = "intent_not_found"
    NOT_FOUND = "not_found"
    KEY_INVALID = "idempotency_key_invalid"
    KEY_REUSED = "idempotency_key_reused"
    ILLEGAL_TRANSITION = "illegal_transition"
    CONTACT_EXISTS = "contact_exists"
    RESOLUTION_EXPIRED = "resolution_expired"
    RESOLUTION_STALE = "resolution_stale"
    TOO_LARGE = "too_large"
    DELIVERY_FAILED = "delivery_failed"
    INTENT_TIMEOUT = "intent_timeout"
    UPSTREAM_UNAVAILABLE = "upstream_unavailable"
    INTERNAL = "internal_error"


class Category(StrEnum):
    VALIDATION = "validation"
    AUTH = "auth"
    POLICY = "policy"
    TRANSPORT = "transport"
    TIMEOUT = "timeout"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class Wire:
    status: int
    category: Category
    retryable: bool = False


WIRE: Final[dict[Code, Wire]] = {
    Code.INVALID_JSON: Wire(400, Category.VALIDATION),
    Code.SCHEMA_INVALID: Wire(422, Category.VALIDATION),
    Code.INVALID_AGENT_ADDRESS: Wire(422, Category.VALIDATION),
    Code.RECIPIENT_REQUIRED: Wire(422, Category.VALIDATION),
    Code.MACRO_INVALID: Wire(422, Category.VALIDATION),
    Code.IMPORT_INVALID: Wire(422, Category.VALIDATION),
    Code.AUTH_FAILED: Wire(401, Category.AUTH),
    Code.POLICY_DENIED: Wire(403, Category.POLICY),
    Code.AGENT_NOT_FOUND: Wire(404, Category.TRANSPORT),
    Code.CONTACT_NOT_FOUND: Wire(404, Category.VALIDATION),
    Code.INTENT_NOT_FOUND: Wire(404, Category.VALIDATION),
    Code.NOT_FOUND: Wire(404, Category.VALIDATION),
    Code.KEY_INVALID: Wire(400, Category.VALIDATION),
    Code.KEY_REUSED: Wire(409, Category.VALIDATION),
    Code.ILLEGAL_TRANSITION: Wire(409, Category.VALIDATION),
    Code.CONTACT_EXISTS: Wire(409, Category.VALIDATION),
    Code.RESOLUTION_EXPIRED: Wire(409, Category.VALIDATION),
    Code.RESOLUTION_STALE: Wire(409, Category.VALIDATION),
    Code.TOO_LARGE: Wire(413, Category.VALIDATION),
    Code.DELIVERY_FAILED: Wire(502, Category.TRANSPORT, retryable=True),
    Code.INTENT_TIMEOUT: Wire(504, Category.TIMEOUT, retryable=True),
    Code.UPSTREAM_UNAVAILABLE: Wire(503, Category.TRANSPORT, retryable=True),
    Code.INTERNAL: Wire(500, Category.INTERNAL, retryable=True),
}


class Refused(PostroomError):
    """The message is written for the caller; it never repeats what somebody else said."""

    error_class: ClassVar[ErrorClass] = ErrorClass.VALIDATION

    def __init__(self, code: Code, message: str, *, fields: Sequence[FieldError] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.fields = tuple(fields)

    @property
    def wire(self) -> Wire:
        return WIRE[self.code]

    @property
    def retryable(self) -> bool:
        return self.wire.retryable


def failure_document(
    code: str, message: str, *, category: str, retryable: bool, fields: Sequence[FieldError] = ()
) -> dict[str, Any]:
    """The one shape in which every one of these doors says no."""
    return {
        "ok": False,
        "error": {
            "code": code,
            "message": message,
            "category": category,
            "retryable": retryable,
            "fields": [{"field": item.field, "error": item.error, "code": item.code} for item in fields],
        },
    }


def refused_document(error: Refused) -> dict[str, Any]:
    wire = error.wire
    return failure_document(
        error.code, error.message, category=wire.category, retryable=wire.retryable, fields=error.fields
    )
