from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.connectors.profile import CHATGPT, GEMINI, Face
from postroom.intents.envelope import (
    ENVELOPE,
    MACROS,
    build_envelope,
    check_envelope,
    compile_macro,
    patient_steps,
    schema,
)
from postroom.intents.model import ASK, MAX_STEPS, REPLY, Reminders, StepKind
from postroom.kernel.values.errors import Code, Refused
from postroom.kernel.values.fields import unsendable
from postroom.kernel.values.ids import SECOND_US, is_uuid, parse_text

SENDER = "agent://household/owner"
NOW = "2026-01-01T00:00:00.000000Z"
INTENT = "01890a5d-ac96-774b-bcce-b302099a8057"
OTHER = "01890a5d-ac96-774b-bcce-b302099a8058"
FACES = [pytest.param(CHATGPT, id="chatgpt"), pytest.param(GEMINI, id="gemini")]


def made(face: Face, **body: Any) -> dict[str, Any]:
    call = face.call({face.wire("from_agent"): SENDER, **body}, SENDER)
    return build_envelope(call, "agent://x/bob", intent_id=INTENT, correlation_id=OTHER, created_at=NOW).document()


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
    assert refused.value.code.status == 422
    made(face, message="x" * 5000, **{face.wire("intent_type"): "reply"})


SCHEMAS_NOW = "2026-01-01T00:00:00Z"
ID = "01890a5d-ac96-774b-bcce-b302099a8057"


def ask(**payload: Any) -> dict[str, Any]:
    return {"question": "Late?", "requested_by": "agent://a", "requested_at": SCHEMAS_NOW, **payload}


def reply(**payload: Any) -> dict[str, Any]:
    return {"answer": "Yes", "status": "answered", "responded_by": "agent://a", "responded_at": SCHEMAS_NOW, **payload}


def envelope(payload: Any = None, **fields: Any) -> dict[str, Any]:
    made = {
        "version": "v1",
        "intent_type": ASK,
        "intent_id": ID,
        "correlation_id": ID,
        "created_at": SCHEMAS_NOW,
        "from_agent": "agent://a",
        "to_agent": "agent://b",
        "payload": ask() if payload is None else payload,
        **fields,
    }
    return {name: value for name, value in made.items() if value is not ...}


def complaints(document: dict[str, Any]) -> list[str]:
    try:
        check_envelope(document)
    except Refused as error:
        return [item.field for item in error.fields]
    return []


@pytest.mark.requirement(
    "intent:validation-envelope", "intent:validation-ask-payload", "intent:validation-reply-payload"
)
@pytest.mark.parametrize(
    ("document", "fields"),
    [
        pytest.param(envelope(), [], id="ask"),
        pytest.param(envelope(reply(), intent_type=REPLY), [], id="reply"),
        pytest.param(envelope(metadata={"a": "b"}, idempotency_key="12345678"), [], id="optional fields"),
        pytest.param(envelope(ask(workflow={"anything": 1})), [], id="workflow is open"),
        pytest.param(envelope(version="v2"), ["version"], id="version"),
        pytest.param(envelope(intent_id="no"), ["intent_id"], id="uuid is checked"),
        pytest.param(envelope(correlation_id="no"), ["correlation_id"], id="correlation uuid"),
        pytest.param(envelope(created_at="yesterday"), ["created_at"], id="date-time is checked"),
        pytest.param(envelope(from_agent=...), ["from_agent"], id="sender missing"),
        pytest.param(envelope(to_agent="ab"), ["to_agent"], id="recipient too short"),
        pytest.param(envelope(intent_type="intent.dance.v1"), ["intent_type"], id="unknown kind"),
        pytest.param(envelope(metadata={"a": True}), ["metadata.a"], id="metadata are strings"),
        pytest.param(envelope(idempotency_key="1234567"), ["idempotency_key"], id="short key"),
        pytest.param(envelope(trace="x"), ["trace"], id="unknown field"),
        pytest.param(envelope(ask(question="x" * 2001)), ["payload.question"], id="question too long"),
        pytest.param(envelope(ask(question="")), ["payload.question"], id="question empty"),
        pytest.param(envelope(ask(deadline_at="soon")), ["payload.deadline_at"], id="deadline"),
        pytest.param(envelope(ask(extra=1)), ["payload.extra"], id="unknown in payload"),
        pytest.param(
            envelope({}), ["payload.question", "payload.requested_by", "payload.requested_at"], id="all at once"
        ),
        pytest.param(envelope(reply(status="maybe"), intent_type=REPLY), ["payload.status"], id="reply status"),
        pytest.param(
            envelope(reply(status="needs_clarification"), intent_type=REPLY),
            ["payload.clarification_question"],
            id="clarification asks something",
        ),
        pytest.param(envelope(ask(question="a\x00b")), ["payload.question"], id="NUL"),
        pytest.param(envelope(ask(question="a\ud800b")), ["payload.question"], id="half a character"),
    ],
)
def test_what_is_wrong_is_named_by_its_path(document: dict[str, Any], fields: list[str]) -> None:
    assert sorted(set(complaints(document))) == sorted(fields)


def test_a_complaint_never_repeats_what_was_said() -> None:
    secret = "the safe is behind the picture " * 100
    with pytest.raises(Refused) as refused:
        check_envelope(envelope(ask(question=secret)))

    assert "safe" not in refused.value.message
    assert "at most 2000 characters" in refused.value.message


@pytest.mark.parametrize("name", [ENVELOPE, ASK, REPLY])
def test_a_schema_names_itself_and_closes_its_fields(name: str) -> None:
    document = schema(name)

    assert document["$id"].endswith(f"{name}.json")
    assert document["additionalProperties"] is False


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*envelope(), "x"]), JSON))
def test_anything_at_all_is_accepted_or_refused(document: dict[str, Any]) -> None:
    assert complaints({**envelope(), **document}) is not None
    check = complaints(document)
    assert check  # an envelope made of so little is never whole


@pytest.mark.parametrize(("depth", "fine"), [(10, True), (16, True), (17, False), (5_000, False)])
def test_a_document_may_be_nested_so_deep_and_no_deeper(depth: int, fine: bool) -> None:
    document: object = "leaf"
    for _ in range(depth):
        document = {"in": [document]}

    found = unsendable(document, "payload")

    assert [item.code for item in found] == ([] if fine else ["too_deep"])


TO, MACROS_OTHER = "agent://x/to", "agent://x/other"


def compiled(macro_id: str, **params: Any) -> list[tuple[str, int, str]]:
    _, steps = compile_macro({"macro_id": macro_id, "params": params}, to_agent=TO, now_us=0)
    return [(str(step.kind), step.at_us // SECOND_US, step.to_agent) for step in steps]


def test_reminding_then_escalating_is_a_list_of_moments() -> None:
    params = {"remind_after_seconds": 60, "max_reminders": 2, "step_deadline_seconds": 150, "escalate_to": MACROS_OTHER}

    assert compiled("macro.remind_then_escalate.v1", **params) == [
        ("ask", 0, TO),
        ("remind", 60, TO),
        ("remind", 120, TO),
        ("escalate", 150, MACROS_OTHER),
        ("expire", 300, TO),
    ]


def test_an_approval_is_asked_of_the_approver() -> None:
    steps = compiled("macro.approval.v1", approver=MACROS_OTHER, max_reminders=0)

    assert [(kind, to) for kind, _, to in steps] == [("ask", MACROS_OTHER), ("expire", MACROS_OTHER)]


def test_asking_many_asks_each_once() -> None:
    steps = compiled("macro.ask_first_answer.v1", recipients=[TO, MACROS_OTHER, TO], step_deadline_seconds=9)

    assert steps == [("ask", 0, TO), ("ask", 0, MACROS_OTHER), ("expire", 9, TO)]


@pytest.mark.parametrize(
    ("workflow", "field"),
    [
        ({}, "macro_id"),
        ({"macro_id": "macro.dance.v1"}, "macro_id"),
        ({"macro_id": "macro.approval.v1", "speed": 1}, "speed"),
        ({"macro_id": "macro.approval.v1", "params": []}, "params"),
        ({"macro_id": "macro.approval.v1", "params": {"colour": "red"}}, "params.colour"),
        ({"macro_id": "macro.approval.v1", "params": {"remind_after_seconds": "60"}}, "params.remind_after_seconds"),
        ({"macro_id": "macro.approval.v1", "params": {"remind_after_seconds": True}}, "params.remind_after_seconds"),
        ({"macro_id": "macro.approval.v1", "params": {"max_reminders": 21}}, "params.max_reminders"),
        ({"macro_id": "macro.approval.v1", "params": {"approver": "bob"}}, "params.approver"),
        ({"macro_id": "macro.ask_first_answer.v1"}, "params.recipients"),
        ({"macro_id": "macro.ask_first_answer.v1", "params": {"recipients": []}}, "params.recipients"),
        ({"macro_id": "macro.ask_first_answer.v1", "params": {"recipients": [TO] * 21}}, "params.recipients"),
    ],
)
def test_what_a_macro_does_not_know_is_refused_by_name(workflow: dict[str, Any], field: str) -> None:
    with pytest.raises(Refused) as refused:
        compile_macro(workflow, to_agent=TO, now_us=0)

    assert refused.value.code is Code.MACRO_INVALID
    assert refused.value.fields[0].field == f"payload.workflow.{field}"


@given(
    st.sampled_from(sorted(MACROS)),
    st.fixed_dictionaries(
        {},
        optional={
            "remind_after_seconds": st.integers(1, 10_000),
            "max_reminders": st.integers(0, 20),
            "step_deadline_seconds": st.integers(1, 100_000),
            "escalate_to": st.just(MACROS_OTHER),
            "recipients": st.lists(st.sampled_from([TO, MACROS_OTHER]), min_size=1, max_size=20),
        },
    ),
)
def test_a_plan_is_in_order_bounded_and_ends(macro_id: str, given_params: dict[str, Any]) -> None:
    known = {parameter.name for parameter in MACROS[macro_id].parameters}
    params = {name: value for name, value in given_params.items() if name in known}
    if "recipients" in known:
        params.setdefault("recipients", [TO])

    _, steps = compile_macro({"macro_id": macro_id, "params": params}, to_agent=TO, now_us=7)

    assert 2 <= len(steps) <= MAX_STEPS
    assert [step.at_us for step in steps] == sorted(step.at_us for step in steps)
    assert steps[0].kind is StepKind.ASK and steps[-1].kind is StepKind.EXPIRE


def test_reminders_need_no_macro() -> None:
    reminders = Reminders(remind_after_seconds=10, remind_interval_seconds=5, max_reminders=2, escalate_to=MACROS_OTHER)

    steps = patient_steps(to_agent=TO, now_us=0, deadline_at_us=18 * SECOND_US, reminders=reminders)

    assert [(str(step.kind), step.at_us // SECOND_US) for step in steps] == [
        ("ask", 0),
        ("remind", 10),
        ("remind", 15),
        ("expire", 18),
    ]
