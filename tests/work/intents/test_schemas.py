from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.domain.errors import Refused
from postroom.domain.intent import ASK, REPLY
from postroom.domain.sendable_json import unsendable
from postroom.work.intents.schemas import ENVELOPE, check_envelope, schema

NOW = "2026-01-01T00:00:00Z"
ID = "01890a5d-ac96-774b-bcce-b302099a8057"


def ask(**payload: Any) -> dict[str, Any]:
    return {"question": "Late?", "requested_by": "agent://a", "requested_at": NOW, **payload}


def reply(**payload: Any) -> dict[str, Any]:
    return {"answer": "Yes", "status": "answered", "responded_by": "agent://a", "responded_at": NOW, **payload}


def envelope(payload: Any = None, **fields: Any) -> dict[str, Any]:
    made = {
        "version": "v1",
        "intent_type": ASK,
        "intent_id": ID,
        "correlation_id": ID,
        "created_at": NOW,
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
