"""What the person did, as the API takes it."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.domain.question import Option, QuestionKind, Wording
from postroom.programs.desk.asks.given import given
from postroom.programs.desk.outcome import PopupEnding, PopupOutcome

OPTIONS = (Option(value="a", label="Alpha"), Option(value="b", label="Beta"))
TEXT = Wording(kind=QuestionKind.TEXT, question="Why?")
ONE = Wording(kind=QuestionKind.CHOICE, question="Which?", options=OPTIONS)
SEVERAL = Wording(kind=QuestionKind.CHOICE, question="Which?", options=OPTIONS, multiple=True)
FORM = Wording(kind=QuestionKind.FORM, question="?", form={"properties": {"n": {"type": "integer"}}})


@pytest.mark.parametrize(
    ("wording", "ending", "answer"),
    [
        (TEXT, PopupEnding(outcome=PopupOutcome.SUBMITTED, text=" so \n"), {"text": " so \n"}),
        (ONE, PopupEnding(outcome=PopupOutcome.SUBMITTED, chosen=("Beta",)), {"value": "b"}),
        (ONE, PopupEnding(outcome=PopupOutcome.SUBMITTED, text="neither"), {"text": "neither"}),
        (SEVERAL, PopupEnding(outcome=PopupOutcome.SUBMITTED, chosen=("Alpha", "Beta")), {"selected": ["a", "b"]}),
        (FORM, PopupEnding(outcome=PopupOutcome.SUBMITTED, fields={"n": ("3",)}), {"fields": {"n": 3}}),
        (TEXT, PopupEnding(outcome=PopupOutcome.DECLINED), {"declined": True}),
    ],
)
def test_an_answer_has_the_form_of_its_question(wording: Wording, ending: PopupEnding, answer: dict[str, Any]) -> None:
    assert given(wording, ending) == answer


@pytest.mark.requirement("ask:desk-closing-is-no-answer")
@pytest.mark.parametrize("outcome", sorted(set(PopupOutcome) - {PopupOutcome.SUBMITTED, PopupOutcome.DECLINED}))
def test_no_other_end_of_a_popup_is_an_answer(outcome: PopupOutcome) -> None:
    assert given(ONE, PopupEnding(outcome=outcome, text="typed", chosen=("Beta",))) is None
