"""The body of `POST /v1/notify`: names that are known, and one key however it is given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.attention_wish import WISH_SCHEMAS
from postroom.domain.errors import FieldError, ValidationError
from postroom.doors.butler.known_fields import known_fields
from postroom.system.settings.shipped import SPOKEN

_TEXT: Final = {"type": "string"}
PROPERTIES: Final[dict[str, dict[str, Any]]] = {
    "message": {**_TEXT, "description": "What to say."},
    "to": {**_TEXT, "description": "A contact by exact name, or an address; the owner, or the token's own person."},
    "channel": {
        **_TEXT,
        "description": f"Such as {SPOKEN}; by default the first that reaches the recipient; auto: in their own order.",
    },
    "subject": {**_TEXT, "description": "Of an e-mail."},
    "priority": {"type": "string", "enum": ["high", "medium", "low"]},
    "wait_seconds": {
        "type": "number",
        "minimum": 0,
        "maximum": 600,
        "description": "How long to wait for the outcome.",
    },
    "idempotency_key": {**_TEXT, "description": "Sent once for this key; also as the header Idempotency-Key."},
    "on_uncertain": {"type": "string", "enum": ["resend", "hold"]},
    "attachments": {
        "type": "array",
        "maxItems": 10,
        "description": "Files, each by exactly one of path (below an outbox folder), upload_id and data (base64).",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "properties": dict.fromkeys(("path", "upload_id", "data", "name", "media_type"), _TEXT),
        },
    },
    "format": {"type": "string", "enum": ["plain", "markdown"], "description": "Of the message; plain by default."},
    **WISH_SCHEMAS,
}


def read_request(body: bytes, key: str | None) -> dict[str, Any]:
    """Raises ValidationError; what the values are is the work's to judge. An absent value and a null are the same."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        raise ValidationError("The body is not JSON.") from None
    if not isinstance(asked, dict):
        raise ValidationError('The body must be an object such as {"message": "Hello"}.')
    return known_fields(asked, PROPERTIES) | _key(asked, key)


def _key(asked: Mapping[str, Any], header: str | None) -> dict[str, str]:
    if header is None:
        return {}
    if asked.get("idempotency_key") not in (None, header):
        told = "is not the same as in the header Idempotency-Key"
        raise ValidationError.of([FieldError("idempotency_key", told, "key_mismatch")])
    return {"idempotency_key": header}
