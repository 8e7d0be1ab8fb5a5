"""The one shape in which every door tells a question."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.clock import START_US
from tests.questions.sample_questions import new_attempt, new_question

from postroom.questions.model import (
    Presentation,
    PresentationStatus,
    Question,
    QuestionAnswer,
    QuestionMove,
    Verdict,
    VerdictKind,
    decided,
    ended,
)
from postroom.questions.rules import plan as moves
from postroom.questions.shapes import QuestionView, ask_body, next_sentence, shown_body

CARD = Presentation(
    id="c1",
    question_id="q1",
    person_id="anna",
    channel="telegram",
    address="555",
    status=PresentationStatus.SHOWN,
    created_at_us=START_US,
    updated_at_us=START_US,
)
FAILED = replace(CARD, person_id="ben", channel="email", status=PresentationStatus.FAILED, failure="no address")


def answered(question: Question, *, declined: bool = False, answer: QuestionAnswer | None = None) -> Question:
    verdict = Verdict(kind=VerdictKind.ACCEPTED, answer=answer, declined=declined)
    return decided(question, new_attempt(question), verdict).question


def told_of(question: Question, *shown: Presentation, joined: bool = False) -> dict[str, Any]:
    return ask_body(QuestionView(question=question, presentations=shown, joined=joined)).model_dump(mode="json")


@pytest.mark.requirement("ask:one-shape")
def test_a_question_that_waits() -> None:
    question = new_question(idempotency_key="k1", state={"step": 2})

    assert told_of(question, CARD, FAILED, joined=True) == {
        "status": "open",
        "ask_id": question.id,
        "idempotency_key": "k1",
        "joined": True,
        "answer": None,
        "answered_by": None,
        "answered_at": None,
        "expires_at": "2026-01-01T01:00:00.000000Z",
        "presentations": [
            {"channel": "telegram", "person": "Anna", "status": "shown"},
            {"channel": "email", "person": "Ben", "status": "not_shown", "reason": "no address"},
        ],
        "state": {"step": 2},
        "next": "Not answered yet. Call wait with this ask_id to go on waiting; do not ask again and do not make up an "
        "answer.",
    }


@pytest.mark.requirement("ask:one-shape")
def test_a_question_that_was_answered() -> None:
    told = told_of(answered(new_question(), answer=QuestionAnswer(value="ship")))

    assert (told["status"], told["joined"]) == ("answered", False)
    assert told["answer"] == {"value": "ship", "text": None, "selected": [], "fields": {}}
    assert told["answered_by"] == {
        "person_id": "anna",
        "name": "Anna",
        "channel": "telegram",
        "assurance": "channel",
    }
    assert told["answered_at"] == "2026-01-01T00:00:01.000000Z"
    assert told["next"] == "Anna answered. Go on with this answer; do not ask again."


@pytest.mark.requirement("ask:default")
def test_a_default_is_told_as_what_it_is() -> None:
    told = told_of(moves.expired(new_question(default="wait"), caught_up=True, now_us=START_US).question)

    assert (told["status"], told["answer"]["value"]) == ("expired", "wait")
    assert told["answered_by"]["person_id"] == "system:default"
    assert told["next"].startswith("No person answered in time: the answer is the default")


def test_every_end_says_whether_a_person_acted() -> None:
    question = new_question()

    def said(question: Question) -> str:
        return next_sentence(question, [])

    assert said(answered(question, declined=True)).startswith("Anna would rather not answer.")
    assert said(moves.expired(question, caught_up=True, now_us=START_US).question).startswith("No person answered")
    assert "before a person answered" in said(moves.cancelled(question, reason=None, now_us=START_US).question)
    assert "took its place" in said(ended(question, QuestionMove.SUPERSEDE, START_US).question)
    assert "handed out by wait" in said(answered(new_question(options=None, secret=True)))


def test_a_question_that_reached_no_person_says_why() -> None:
    assert "No person could be shown this question (Ben: no address)" in next_sentence(new_question(), [FAILED])
    assert next_sentence(new_question(), []).startswith("Not answered yet.")


def test_a_card_that_something_holds_up_is_told_as_not_shown() -> None:
    held = replace(CARD, status=PresentationStatus.PLANNED, failure="not delivered yet")
    told = told_of(new_question(), replace(held, failure=None), held)
    assert [one["status"] for one in told["presentations"]] == ["planned", "not_shown"]


@pytest.mark.requirement("ask:one-shape")
def test_a_document_is_the_one_shape_and_people_see_what_was_asked_beside_it() -> None:
    question = new_question(context="All tests pass.", state={"build": 7})
    view = QuestionView(question=question, joined=True)
    told = shown_body(view).model_dump(mode="json")

    assert {name: value for name, value in told.items() if name != "asked"} == ask_body(view).model_dump(mode="json")
    assert (told["asked"]["question"], told["asked"]["context"]) == ("Ship it?", "All tests pass.")
    assert [one["label"] for one in told["asked"]["options"]] == ["ship", "wait"]
    assert told["asked"]["to"][0] == {"person_id": "anna", "name": "Anna"}
