"""What is due when."""

from __future__ import annotations

from typing import Any

from tests.clock import START_US
from tests.questions.sample_questions import HOUR_US, new_question

from postroom.kernel.values.ids import seconds
from postroom.kernel.values.moments import Due, DueMoment, Reason
from postroom.questions.rules import plan as changes
from postroom.questions.rules.plan import is_due, question_moments

END = START_US + HOUR_US
REMIND, ESCALATE = START_US + seconds(60), START_US + seconds(120)


def waiting() -> dict[str, Any]:
    return {"remind_after_seconds": 60, "escalate_to": "cleo", "escalate_after_seconds": 120}


def due(reason: Reason, now_us: int) -> Due:
    return Due(moment=DueMoment(kind="question", id="q", reason=reason, due_us=now_us, fence=1, tries=0), now_us=now_us)


def test_steps_come_at_their_times() -> None:
    question = new_question(**waiting())

    times = {Reason.REMIND: REMIND, Reason.ESCALATE: ESCALATE, Reason.EXPIRE: END}
    assert question_moments(question) == times
    for reason, at_us in times.items():
        assert [is_due(question, due(reason, now_us)) for now_us in (at_us - 1, at_us)] == [False, True]


def test_a_step_is_taken_once() -> None:
    question = new_question(**waiting())
    reminded = changes.taken(question, due(Reason.REMIND, ESCALATE)).question
    escalated = changes.taken(reminded, due(Reason.ESCALATE, ESCALATE)).question

    assert question_moments(reminded) == {Reason.ESCALATE: ESCALATE, Reason.EXPIRE: END}
    assert question_moments(escalated) == {Reason.EXPIRE: END}
    assert changes.taken(escalated, due(Reason.ESCALATE, ESCALATE)).question == escalated


def test_of_what_is_over_nobody_is_reminded_and_after_its_end_nothing_is_due() -> None:
    question = new_question(**waiting())
    over = changes.cancelled(question, reason=None, now_us=REMIND).question

    assert not is_due(question, due(Reason.REMIND, END))
    assert not is_due(question, due(Reason.ESCALATE, END))
    assert question_moments(over) == {}
    assert changes.taken(over, due(Reason.EXPIRE, END + HOUR_US)).question == over


def test_a_deadline_that_was_moved_on_is_not_due_at_its_former_time() -> None:
    question = new_question()
    later = changes.revised(question, question.wording, expires_at_us=END + HOUR_US, now_us=END - 1).question

    assert changes.taken(later, due(Reason.EXPIRE, END)).question == later
