from __future__ import annotations

from typing import Any

import pytest

from postroom.domain.errors import Refused
from postroom.domain.ids import is_uuid
from postroom.domain.time import parse_text
from postroom.doors.assistants.profile import CHATGPT, GEMINI, Face
from postroom.work.intents.envelope import build_envelope

SENDER = "agent://household/owner"
NOW = "2026-01-01T00:00:00.000000Z"
INTENT = "01890a5d-ac96-774b-bcce-b302099a8057"
OTHER = "01890a5d-ac96-774b-bcce-b302099a8058"
FACES = [pytest.param(CHATGPT, id="chatgpt"), pytest.param(GEMINI, id="gemini")]


def made(face: Face, **body: Any) -> dict[str, Any]:
    call = face.call({face.wire("from_agent"): SENDER, **body}, SENDER)
    return build_envelope(call, "agent://x/bob", intent_id=INTENT, correlation_id=OTHER, created_at=NOW)


@pytest.mark.requirement(
    "intent:version",
    "intent:intent-id",
    "intent:correlation-id",
    "intent:created-at",
    "intent:from-agent-to-agent",
    "intent:payload",
)
@pytest.mark.parametrize("face", FACES)
def test_every_face_makes_the_same_envelope(face: Face) -> None:
    envelope = made(face, message="The train is late")

    assert (envelope["version"], envelope["intent_type"]) == ("v1", "intent.ask.v1")
    assert is_uuid(envelope["intent_id"]) and is_uuid(envelope["correlation_id"])
    assert parse_text(envelope["created_at"])
    assert (envelope["from_agent"], envelope["to_agent"]) == (SENDER, "agent://x/bob")
    assert envelope["payload"] == {"question": "The train is late", "requested_by": SENDER, "requested_at": NOW}


ASKED = {"requested_by": SENDER, "requested_at": NOW}
ANSWERED = {"responded_by": SENDER, "responded_at": NOW}


@pytest.mark.parametrize(
    ("face", "body", "kind", "payload"),
    [
        pytest.param(face, body, kind, payload, id=f"{face.name}: {name}")
        for face in (CHATGPT, GEMINI)
        for name, body, kind, payload in [
            ("message of an ask", {"message": "Hi"}, "ask", {"question": "Hi", **ASKED}),
            ("question", {"question": "Hi", "message": "no"}, "ask", {"question": "Hi", **ASKED}),
            ("message of a reply", {face.wire("intent_type"): "intent.reply.v1", "message": "Yes"}, "reply",
             {"answer": "Yes", "status": "answered", **ANSWERED}),
            ("short name of a kind", {face.wire("intent_type"): "reply", "answer": "Yes"}, "reply",
             {"answer": "Yes", "status": "answered", **ANSWERED}),
            ("whole payload", {face.wire("payload"): {"question": "Hi", "context": "c"}}, "ask",
             {"question": "Hi", "context": "c", **ASKED}),
            ("context and deadline", {"message": "Hi", "context": "c", "deadline_at": "2030-01-01T00:00:00Z"}, "ask",
             {"question": "Hi", "context": "c", "deadline_at": "2030-01-01T00:00:00Z", **ASKED}),
            ("clarification", {face.wire("intent_type"): "reply", "answer": "Which?", "status": "needs_clarification",
             "clarification_question": "Which train?"}, "reply",
             {"answer": "Which?", "status": "needs_clarification", "clarification_question": "Which train?",
              **ANSWERED}),
            ("workflow", {"message": "Hi", "workflow_macro_id": "macro.x.v1", "workflow_macro_params": {"a": 1},
             "workflow_owner_agent": SENDER}, "ask",
             {"question": "Hi", **ASKED,
              "workflow": {"macro_id": "macro.x.v1", "params": {"a": 1}, "owner_agent": SENDER}}),
            ("a claimed asker is overruled", {face.wire("payload"): {"question": "Hi", "requested_by": "agent://eve"}},
             "ask", {"question": "Hi", **ASKED}),
        ]
    ],
)  # fmt: skip
@pytest.mark.requirement(
    "intent:intent-type",
    "intent:chatgpt-intent-name",
    "intent:chatgpt-payload",
    "intent:chatgpt-message",
    "intent:chatgpt-workflow",
    "intent:gemini-intent",
    "intent:gemini-data",
    "intent:gemini-message",
    "intent:gemini-workflow",
)
def test_fields_find_their_place(face: Face, body: dict[str, Any], kind: str, payload: dict[str, Any]) -> None:
    envelope = made(face, **body)

    assert envelope["intent_type"] == f"intent.{kind}.v1"
    assert envelope["payload"] == payload


@pytest.mark.requirement("intent:metadata-input-mode", "intent:chatgpt-input-mode", "intent:gemini-input-mode")
@pytest.mark.parametrize("face", FACES)
def test_how_it_was_said_is_kept(face: Face) -> None:
    assert made(face, message="Hi")["metadata"]["input_mode"] == "text"
    assert made(face, message="Hi", input_mode="voice")["metadata"]["input_mode"] == "voice"


@pytest.mark.requirement("intent:idempotency-key")
@pytest.mark.parametrize("face", FACES)
def test_a_key_is_carried_or_made_from_the_call(face: Face) -> None:
    call_id = face.wire("call_id")

    assert made(face, message="Hi", idempotency_key="12345678")["idempotency_key"] == "12345678"
    assert "idempotency_key" not in made(face, message="Hi")
    once, twice = made(face, message="Hi", **{call_id: "c1"}), made(face, message="Hi", **{call_id: "c1"})
    other = made(face, message="Ho", **{call_id: "c1"})
    assert once["idempotency_key"] == twice["idempotency_key"] != other["idempotency_key"]


@pytest.mark.parametrize("face", FACES)
def test_a_message_that_is_too_long_for_an_ask_is_a_clear_refusal(face: Face) -> None:
    with pytest.raises(Refused) as refused:
        made(face, message="x" * 2001)

    assert refused.value.message == "payload.question: must have at most 2000 characters"
    assert refused.value.wire.status == 422
    made(face, message="x" * 5000, **{face.wire("intent_type"): "reply"})
