from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.programs.desk.outcome import Ending, Outcome, answer


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        pytest.param(Ending(outcome=Outcome.SUBMITTED, text=" a\n b "), "User response:  a\n b ", id="submitted"),
        pytest.param(Ending(outcome=Outcome.EMPTY), "User submitted empty response", id="empty"),
        pytest.param(Ending(outcome=Outcome.DISPLAYED), "✓ Message displayed successfully", id="displayed"),
        pytest.param(Ending(outcome=Outcome.CANCELLED), "User cancelled the popup", id="cancelled"),
        pytest.param(Ending(outcome=Outcome.DISMISSED), "User dismissed the popup", id="dismissed"),
        pytest.param(Ending(outcome=Outcome.REPLACED), "User cancelled or dismissed the popup", id="replaced"),
        pytest.param(
            Ending(outcome=Outcome.HEADLESS),
            "Error: Cannot display popup - no display available. This feature requires a graphical environment.",
            id="headless",
        ),
    ],
)
@pytest.mark.requirement("popup:submitted")
@pytest.mark.requirement("popup:replaced")
@pytest.mark.requirement("popup:headless")
def test_every_end_has_its_sentence(ending: Ending, expected: str) -> None:
    assert answer(ending) == expected


@pytest.mark.parametrize(
    ("timeout", "expected"),
    [(30, "30s"), (30.0, "30s"), (7.5, "7.5s"), (300, "300s")],
    ids=["whole", "whole as float", "fraction", "longest"],
)
@pytest.mark.requirement("popup:timeout-value")
def test_a_timeout_is_named_as_it_was_asked_for(timeout: float, expected: str) -> None:
    assert answer(Ending(outcome=Outcome.TIMEOUT), timeout) == f"No response within {expected} timeout"


def test_a_crash_is_never_called_dismissed() -> None:
    assert "dismissed" not in answer(Ending(outcome=Outcome.CRASHED))


@given(st.text(min_size=1).filter(str.strip), st.lists(st.text(min_size=1), max_size=3))
def test_no_typed_character_is_changed(text: str, chosen: list[str]) -> None:
    reply = answer(Ending(outcome=Outcome.SUBMITTED, text=text, chosen=tuple(chosen)))
    assert reply == "User response: " + "\n".join([*chosen, text])


def test_an_option_alone_leaves_no_blank_line() -> None:
    assert answer(Ending(outcome=Outcome.SUBMITTED, text=" ", chosen=("Yes",))) == "User response: Yes"


def test_what_was_typed_is_not_in_the_repr() -> None:
    assert "private" not in repr(Ending(outcome=Outcome.SUBMITTED, text="private", chosen=("private",)))
