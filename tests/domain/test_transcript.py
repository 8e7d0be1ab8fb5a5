from __future__ import annotations

import pytest

from postroom.domain.fields import text_problem
from postroom.domain.transcript import ToolCall, Transcript, as_text, document

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
