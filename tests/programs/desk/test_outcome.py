from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.programs.desk.outcome import PopupEnding, PopupOutcome, answer


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        pytest.param(
            PopupEnding(outcome=PopupOutcome.SUBMITTED, text=" a\n b "), "User response:  a\n b ", id="submitted"
        ),
        pytest.param(PopupEnding(outcome=PopupOutcome.EMPTY), "User submitted empty response", id="empty"),
        pytest.param(PopupEnding(outcome=PopupOutcome.DISPLAYED), "✓ Message displayed successfully", id="displayed"),
        pytest.param(PopupEnding(outcome=PopupOutcome.CANCELLED), "User cancelled the popup", id="cancelled"),
        pytest.param(PopupEnding(outcome=PopupOutcome.DISMISSED), "User dismissed the popup", id="dismissed"),
        pytest.param(
            PopupEnding(outcome=PopupOutcome.REPLACED), "User cancelled or dismissed the popup", id="replaced"
        ),
        pytest.param(
            PopupEnding(outcome=PopupOutcome.HEADLESS),
            "Error: Cannot display popup - no display available. This feature requires a graphical environment.",
            id="headless",
        ),
    ],
)
@pytest.mark.requirement("popup:submitted")
@pytest.mark.requirement("popup:replaced")
@pytest.mark.requirement("popup:headless")
def test_every_end_has_its_sentence(ending: PopupEnding, expected: str) -> None:
    assert answer(ending) == expected


@pytest.mark.parametrize(
    ("timeout", "expected"),
    [(30, "30s"), (30.0, "30s"), (7.5, "7.5s"), (300, "300s")],
    ids=["whole", "whole as float", "fraction", "longest"],
)
@pytest.mark.requirement("popup:timeout-value")
def test_a_timeout_is_named_as_it_was_asked_for(timeout: float, expected: str) -> None:
    assert answer(PopupEnding(outcome=PopupOutcome.TIMEOUT), timeout) == f"No response within {expected} timeout"


def test_a_crash_is_never_called_dismissed() -> None:
    assert "dismissed" not in answer(PopupEnding(outcome=PopupOutcome.CRASHED))


@given(st.text(min_size=1).filter(str.strip), st.lists(st.text(min_size=1), max_size=3))
def test_no_typed_character_is_changed(text: str, chosen: list[str]) -> None:
    reply = answer(PopupEnding(outcome=PopupOutcome.SUBMITTED, text=text, chosen=tuple(chosen)))
    assert reply == "User response: " + "\n".join([*chosen, text])


def test_an_option_alone_leaves_no_blank_line() -> None:
    assert answer(PopupEnding(outcome=PopupOutcome.SUBMITTED, text=" ", chosen=("Yes",))) == "User response: Yes"


def test_what_was_typed_is_not_in_the_repr() -> None:
    assert "private" not in repr(PopupEnding(outcome=PopupOutcome.SUBMITTED, text="private", chosen=("private",)))
