"""Envelopes of MA2H, made here."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

_KEYS = count()
OPTIONS = [{"value": "ship", "label": "Ship now", "description": "At once."}, {"value": "hold", "label": "Hold"}]
SCHEMA = {
    "type": "object",
    "properties": {"note": {"type": "string", "x-ma2h-sensitive": True}, "tell": {"type": "boolean"}},
    "required": ["note"],
}


def envelope(verb: str, **more: Any) -> dict[str, Any]:
    made = {
        "ma2h_version": "0.5",
        "type": verb,
        "created_at": "2026-01-01T00:00:00Z",
        "agent": {"id": "health", "run_id": "run-1", "runtime": "cli"},
        "title": "Ship it?",
        "some_later_field": {"ignored": True},
    }
    if verb != "notify":
        made["idempotency_key"] = f"key-{next(_KEYS)}"
    return {**made, **more}


def ask(mode: str = "select", **more: Any) -> dict[str, Any]:
    blocks: dict[str, dict[str, Any]] = {
        "select": {"options": OPTIONS},
        "confirm": {},
        "input": {"schema": SCHEMA},
    }
    request = {"mode": mode, **blocks[mode], **more.pop("request", {})}
    return envelope("ask", request=request, **more)


def task(**more: Any) -> dict[str, Any]:
    action = {
        "instructions": "Rotate the *key*.",
        "checklist": [{"text": "Make one"}, {"text": "Store it", "done": False}],
        "verification": "A call works.",
        **more.pop("action", {}),
    }
    return envelope("task", action=action, **more)


def soon(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
