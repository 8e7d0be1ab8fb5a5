"""What an envelope must be, and what is refused before anything is stored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.doors.ma2h.envelopes import ask, envelope, task

from postroom.domain.time import parse_text
from postroom.doors.ma2h.envelope import read_envelope
from postroom.doors.ma2h.question import question_request
from postroom.doors.ma2h.refusals import NotTaken

NOW_US = parse_text("2026-01-01T00:00:00Z")
PUSH = {"mode": "push", "url": "https://a.example/x", "auth": {"scheme": "hmac", "secret_ref": "env:S"}}
AGENT = envelope("notify")["agent"]


def read(document: Any) -> None:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    taken = read_envelope(body, None, NOW_US)
    if taken.verb != "notify":
        question_request(taken, "k", None, NOW_US)


WRONG: dict[str, tuple[Any, str, str]] = {
    "not JSON": (b"{", "validation_error", ""),
    "no object": ([], "validation_error", ""),
    "no version": (envelope("notify", ma2h_version=None), "validation_error", "ma2h_version"),
    "odd version": (envelope("notify", ma2h_version="0.03"), "validation_error", "ma2h_version"),
    "odd major": (envelope("notify", ma2h_version="00.5"), "validation_error", "ma2h_version"),
    "unknown major": (envelope("notify", ma2h_version="1.0"), "version_not_supported", ""),
    "unknown verb": (envelope("shout"), "validation_error", "type"),
    "no time": (envelope("notify", created_at="today"), "validation_error", "created_at"),
    "no agent": (envelope("notify", agent=None), "validation_error", "agent"),
    "odd runtime": (envelope("notify", agent={**AGENT, "runtime": "toaster"}), "validation_error", "agent.runtime"),
    "long title": (envelope("notify", title="x" * 201), "validation_error", "title"),
    "odd priority": (envelope("notify", priority="loud"), "validation_error", "priority"),
    "state no object": (envelope("notify", state="x"), "validation_error", "state"),
    "notify with request": (envelope("notify", request={"mode": "confirm"}), "validation_error", "request"),
    "ask with action": (ask(action={"instructions": "x"}), "validation_error", "action"),
    "ask without request": (envelope("ask"), "validation_error", "request"),
    "ask without key": (ask(idempotency_key=None), "validation_error", "idempotency_key"),
    "task without key": (task(idempotency_key=None), "validation_error", "idempotency_key"),
    "select without options": (ask(request={"options": []}), "validation_error", "request.options"),
    "confirm with three": (
        ask("confirm", request={"options": [{"value": v, "label": v} for v in "abc"]}),
        "validation_error",
        "request.options",
    ),
    "input without schema": (ask("input", request={"schema": None}), "validation_error", "request.schema"),
    "resolver of no kind": (
        ask(request={"allowed_resolvers": ["anna"]}),
        "validation_error",
        "request.allowed_resolvers.0",
    ),
    "hmac without secret": (
        ask(request={"callback": {**PUSH, "auth": {"scheme": "hmac"}}}),
        "validation_error",
        "request.callback.auth.secret_ref",
    ),
    "bearer with secret": (
        ask(request={"callback": {**PUSH, "auth": {"scheme": "bearer", "secret_ref": "s", "token_ref": "t"}}}),
        "validation_error",
        "request.callback.auth.secret_ref",
    ),
    "part of no kind": (envelope("notify", context=[{"kind": "tune"}]), "validation_error", "context.0.kind"),
    "push": (ask(request={"callback": PUSH}), "invalid_field", "request.callback.mode"),
    "past": (ask(expires_at="2025-12-31T00:00:00Z"), "invalid_field", "expires_at"),
    "far": (ask(expires_at="2027-12-31T00:00:00Z"), "invalid_field", "expires_at"),
    "foreign default": (ask(request={"default_on_expire": "no"}), "invalid_field", "request.default_on_expire"),
    "silent yes": (
        ask("confirm", request={"default_on_expire": "approve"}),
        "invalid_field",
        "request.default_on_expire",
    ),
    "deep form": (
        ask("input", request={"schema": {"type": "object", "properties": {"a": {"type": "object"}}}}),
        "invalid_field",
        "request.schema.properties.a.type",
    ),
    "only declining": (
        ask(request={"permissions": {"allow_respond": False}}),
        "invalid_field",
        "request.permissions.allow_respond",
    ),
    "agent resolves": (
        ask(request={"allowed_resolvers": ["human:anna", "agent:x"]}),
        "invalid_field",
        "request.allowed_resolvers.1",
    ),
    "long body": (envelope("notify", body="x" * 16_385), "invalid_field", "body"),
    "many parts": (envelope("notify", context=[{"kind": "text", "text": "x"}] * 17), "invalid_field", "context"),
    "to an agent": (envelope("notify", to="agent:b"), "not_authorized", ""),
    "session": (envelope("notify", agent={**AGENT, "session": "sess_1"}), "invalid_field", "agent.session"),
}


@pytest.mark.requirement("connect:ma2h-refuses")
@pytest.mark.parametrize(("document", "code", "field"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_refused_by_code_and_field(document: Any, code: str, field: str) -> None:
    with pytest.raises(NotTaken) as refused:
        read(document)

    assert refused.value.code == code
    assert not field or field in [one.field for one in refused.value.fields]


RIGHT = {
    "notify": envelope("notify"),
    "older minor": envelope("notify", ma2h_version="0.1"),
    "later minor": envelope("notify", ma2h_version="0.12"),
    "parts": envelope(
        "notify",
        context=[
            {"kind": "text", "text": "t"},
            {"kind": "data", "data": {"a": 1}},
            {"kind": "file", "file": {"uri": "https://a.example/f"}},
        ],
    ),
    "pull": ask(request={"callback": {"mode": "pull"}}),
    "choice of two": ask("confirm", request={"options": [{"value": "a", "label": "A"}, {"value": "b", "label": "B"}]}),
    "deny by default": ask("confirm", request={"default_on_expire": "deny"}),
    "form with default": ask("input", request={"default_on_expire": {"note": "none"}}),
    "enum without type": ask("input", request={"schema": {"type": "object", "properties": {"a": {"enum": ["x"]}}}}),
    "no default": ask(request={"default_on_expire": None}),
    "task": task(),
}


@pytest.mark.parametrize("document", RIGHT.values(), ids=RIGHT)
def test_what_is_right_is_taken(document: dict[str, Any]) -> None:
    read(document)
