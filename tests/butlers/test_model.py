from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from postroom.butlers.model import (
    Session,
    SessionEvent,
    SessionStatus,
    ToolCall,
    Transcript,
    after,
    as_text,
    document,
    notify_context,
)
from postroom.kernel.values.fields import text_problem
from postroom.kernel.values.principal import SessionId


def session(context: dict[str, Any] | None) -> Session:
    return Session(
        id=SessionId("s1"),
        butler="general",
        runtime="codex",
        trigger_source="route",
        caller="butler:switchboard",
        prompt="canary",
        request_context=context,
        status=SessionStatus.RUNNING,
        attempt=1,
        created_at_us=0,
        started_at_us=0,
    )


def test_a_move_that_is_not_in_the_table_is_a_bug() -> None:
    with pytest.raises(KeyError):
        after(SessionStatus.DONE, SessionEvent.CLAIM)


@pytest.mark.requirement("notify:request-context-from-runtime-session")
@pytest.mark.parametrize("intent", ["send", "reply", "react", None])
def test_a_routed_session_lends_its_context_without_what_a_notify_does_not_know(intent: object) -> None:
    lineage = {
        "request_id": "r1",
        "source_channel": "telegram",
        "source_endpoint_identity": "bot",
        "source_sender_identity": "4711",
        "source_thread_identity": "4711:5",
    }
    routed = session(lineage | {"segment_id": "s", "trace_context": {"a": 1}, "received_at": None})

    assert notify_context(routed, intent=intent) == lineage


@pytest.mark.parametrize(("intent", "has_context"), [("send", True), (None, True), ("reply", False), ("react", False)])
def test_any_other_session_stands_for_itself_when_it_sends(intent: object, has_context: bool) -> None:
    context = notify_context(session(None), intent=intent)

    assert (context is not None) is has_context
    if context:
        assert context["request_id"] == "s1"


def test_what_was_asked_is_in_no_representation() -> None:
    assert "canary" not in repr(session({"request_id": "canary"}))


def test_tokens_are_what_its_program_counted() -> None:
    counted = {"usage": {"input_tokens": 10, "output_tokens": 5}}

    assert replace(session(None), transcript=counted).tokens == 15
    assert session(None).tokens == 0


CALL = ToolCall(tool="notify", arguments="{}", ok=True)


@pytest.mark.parametrize(
    ("transcript", "is_good"),
    [
        (Transcript(finished=True), True),
        (Transcript(finished=True, calls=(CALL,)), True),
        (Transcript(finished=True, connected=False), False),
        (Transcript(finished=True, error="x"), False),
        (Transcript(finished=False), False),
        (Transcript(finished=True, calls=(ToolCall(tool="notify", arguments="", ok=False),)), False),
    ],
)
def test_a_session_is_good_when_nothing_speaks_against_it(transcript: Transcript, is_good: bool) -> None:
    assert (transcript.failure is None) is is_good


def test_the_record_is_bounded_and_says_how_much_there_was() -> None:
    long = ToolCall(tool="t" * 999, arguments=as_text({"a": "x" * 9_999}), ok=True, answer=as_text("y" * 9_999))

    kept = document(Transcript(finished=True, text="z" * 99_999, calls=(long,) * 500))

    assert len(kept["text"]) == 16_000
    assert (len(kept["tool_calls"]), kept["tool_call_count"]) == (100, 500)
    assert len(kept["tool_calls"][0]["arguments"]) == 2_000


def test_whatever_a_model_prints_can_be_kept() -> None:
    odd = "a\x00 \ud800"
    call = ToolCall(tool=odd, arguments=as_text({odd: odd}), ok=True, answer=as_text(odd))

    kept = document(Transcript(finished=True, text=odd + "\ud83d" + "\ude00", calls=(call,)))

    assert kept["text"] == "a\ufffd \ufffd😀"
    assert not [text for text in (kept["text"], *map(str, kept["tool_calls"][0].values())) if text_problem(text)]


def test_what_was_said_is_in_no_representation() -> None:
    call = ToolCall(tool="notify", arguments="canary", ok=True, answer="canary")

    assert "canary" not in repr(Transcript(finished=True, text="canary", calls=(call,)))
