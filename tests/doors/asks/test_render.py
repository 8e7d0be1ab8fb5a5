"""One shape for a question, whatever became of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.work.questions.sample_questions import new_question

from postroom.domain.presentation import Presentation
from postroom.domain.question_answer import BY_DEFAULT, Answer, AnsweredBy, Assurance
from postroom.domain.question_states import PresentationStatus, QuestionStatus
from postroom.doors.asks.render import document, shown
from postroom.work.questions.view import QuestionView

BY_ANNA = AnsweredBy(person_id="anna", name="Anna", channel="telegram", assurance=Assurance.CHANNEL)


def view(**changes: object) -> QuestionView:
    return QuestionView(question=replace(new_question(), **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (view(), "Call wait with this ask_id"),
        (view(status=QuestionStatus.ANSWERED, answer=Answer(value="ship"), answered_by=BY_ANNA), "Anna answered."),
        (view(status=QuestionStatus.DECLINED, answered_by=BY_ANNA), "would rather not"),
        (view(status=QuestionStatus.EXPIRED), "neither a yes nor a no"),
        (
            view(status=QuestionStatus.EXPIRED, answered_by=BY_DEFAULT, answer=Answer(value="ship")),
            "No person answered",
        ),
        (view(status=QuestionStatus.CANCELLED), "neither a yes nor a no"),
        (view(status=QuestionStatus.SUPERSEDED, superseded_by="a-2"), "wait for a-2"),
    ],
    ids=["open", "answered", "declined", "expired", "by default", "cancelled", "superseded"],
)
@pytest.mark.requirement("ask:one-shape")
def test_every_end_says_whether_a_person_acted_and_what_to_do(seen: QuestionView, said: str) -> None:
    told = document(seen)

    assert (told["status"], said in told["next"]) == (str(seen.question.status), True)
    assert (told["answer"] is None) == (seen.question.answer is None)
    assert shown(seen) == {**told, "asked": shown(seen)["asked"]}


def test_who_could_not_be_shown_it_is_named_with_the_reason() -> None:
    asked = new_question()
    card = Presentation(
        id="p-1",
        question_id=asked.id,
        person_id="anna",
        channel="telegram",
        address="",
        status=PresentationStatus.FAILED,
        reason="no verified address",
        created_at_us=0,
        updated_at_us=0,
    )
    told = document(QuestionView(question=asked, presentations=[card]))

    assert told["presentations"] == [
        {"channel": "telegram", "person": "Anna", "status": "not_shown", "reason": "no verified address"}
    ]
    assert "No person could be shown this question (Anna: no verified address)" in told["next"]
