"""Agents get what became of a question; people get what was asked as well."""

from __future__ import annotations

import pytest
from tests.work.questions.sample_questions import new_question

from postroom.doors.asks.answer_shape import answer_shape
from postroom.doors.asks.render import document, shown
from postroom.work.questions.view import QuestionView


@pytest.mark.requirement("ask:one-shape")
def test_a_document_is_the_one_shape_and_people_see_what_was_asked_beside_it() -> None:
    question = new_question(context="All tests pass.", state={"build": 7})
    view = QuestionView(question=question, joined=True)
    told = shown(view)

    assert document(view) == answer_shape(question, (), joined=True)
    assert {name: value for name, value in told.items() if name != "asked"} == document(view)
    assert (told["asked"]["question"], told["asked"]["context"]) == ("Ship it?", "All tests pass.")
    assert [one["label"] for one in told["asked"]["options"]] == ["ship", "wait"]
    assert told["asked"]["to"][0] == {"person_id": "anna", "name": "Anna"}
