"""Answers in the words a person saw."""

from __future__ import annotations

import pytest
from tests.work.questions.sample_questions import new_question

from postroom.domain.answer_attempt import Said
from postroom.domain.question_answer import QuestionAnswer
from postroom.work.questions.answer_words import answer_words

CHOICE = new_question(options=[{"value": "y", "label": "Yes, ship"}, "no"]).wording
FORM = new_question(
    options=None,
    kind="form",
    form={
        "type": "object",
        "properties": {
            "many": {"type": "integer", "title": "How many"},
            "warm": {"type": "boolean"},
            "days": {"type": "array", "items": {"type": "string", "enum": ["Mon", "Tue"]}},
        },
    },
).wording

CASES = {
    "label": (CHOICE, QuestionAnswer(value="y"), "Yes, ship"),
    "several": (CHOICE, QuestionAnswer(selected=("y", "no")), "Yes, ship, no"),
    "own words": (CHOICE, QuestionAnswer(text="later"), "later"),
    "form": (
        FORM,
        QuestionAnswer(fields={"many": 2, "warm": False, "days": ["Mon", "Tue"]}),
        "How many: 2; warm: no; days: Mon, Tue",
    ),
    "try": (CHOICE, Said(value="y"), "Yes, ship"),
    "declined": (CHOICE, Said(declined=True), "Rather not"),
    "nothing kept": (CHOICE, Said(), ""),
}


@pytest.mark.parametrize(("wording", "answer", "words"), CASES.values(), ids=CASES)
def test_an_answer_is_said_by_labels_and_titles(wording: object, answer: object, words: str) -> None:
    assert answer_words(wording, answer) == words  # type: ignore[arg-type]
