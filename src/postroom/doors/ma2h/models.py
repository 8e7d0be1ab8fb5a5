"""The bodies of MA2H, for the OpenAPI document; what came in an envelope goes back as it came."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field


class MessageAck(BaseModel):
    id: str = Field(description="Of the message.")
    status: str = Field(description="`delivered` for a notify; else `open`, or how it ended under the same key.")
    poll_url: str
    review_url: str | None = None


class PolledMessage(BaseModel):
    model_config = ConfigDict(extra="allow")

    id: str
    status: str
    response: dict[str, Any] | None = Field(None, description="When an ask or a task has ended.")


class MessageEnd(BaseModel):
    id: str
    status: str
    resolution_id: str | None = None


_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": "string", "format": "date-time"}
_OBJECT: Final = {"type": "object"}


def _body(required: list[str], properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "required": required, "properties": properties}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


SUBMIT_REQUEST: Final = _body(
    ["ma2h_version", "type", "created_at", "agent", "title"],
    {
        "ma2h_version": {**_TEXT, "examples": ["0.5"]},
        "type": {"type": "string", "enum": ["notify", "ask", "task"]},
        "created_at": _TIME,
        "agent": {
            "type": "object",
            "required": ["id", "run_id", "runtime"],
            "properties": {"id": _TEXT, "run_id": _TEXT, "runtime": _TEXT},
        },
        "title": {"type": "string", "minLength": 1, "maxLength": 200},
        "body": {**_TEXT, "description": "Markdown."},
        "priority": {"type": "string", "enum": ["low", "normal", "high", "urgent"]},
        "idempotency_key": {**_TEXT, "description": "Required for ask and task, here or as the header."},
        "expires_at": _TIME,
        "context": {"type": "array", "items": _OBJECT},
        "state": {**_OBJECT, "description": "Yours; handed back as it came."},
        "request": {**_OBJECT, "description": "Of an ask: mode, options, schema, default_on_expire, …"},
        "action": {**_OBJECT, "description": "Of a task: instructions, checklist, verification, …"},
    },
)
RESOLVE_REQUEST: Final = _body(
    ["resolution"],
    {
        "resolution": {"type": "string", "enum": ["answered", "declined", "completed", "dismissed"]},
        "value": {"anyOf": [_TEXT, _OBJECT], "description": "Of answered, and of nothing else."},
        "comment": _TEXT,
        "checklist": {"type": "array", "items": _OBJECT, "description": "Of a task: text and done of each."},
    },
)
