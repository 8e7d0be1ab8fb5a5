"""What is due when."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clock import START_US
from tests.questions.sample_questions import HOUR_US, new_question

from postroom.kernel.values.ids import seconds
from postroom.questions.rules import plan as changes
from postroom.questions.rules.plan import PATIENCE_SECONDS, Plan, QuestionStep, due, next_at

END = START_US + HOUR_US
REMIND, ESCALATE = START_US + seconds(60), START_US + seconds(120)


def waiting() -> dict[str, Any]:
    return {"remind_after_seconds": 60, "escalate_to": "cleo", "escalate_after_seconds": 120}


def test_steps_come_at_their_times() -> None:
    question = new_question(**waiting())

    assert next_at(question) == question.next_at_us == REMIND
    assert due(question, REMIND - 1) == Plan(next_at_us=REMIND)
    assert due(question, REMIND) == Plan(steps=(QuestionStep.REMIND,), next_at_us=ESCALATE)
    assert due(question, ESCALATE) == Plan(steps=(QuestionStep.REMIND, QuestionStep.ESCALATE), next_at_us=END)
    assert due(question, END) == Plan(steps=(QuestionStep.EXPIRE,))


def test_a_step_is_taken_once() -> None:
    question = new_question(**waiting())
    reminded = changes.taken(question, due(question, ESCALATE), ESCALATE).question
    escalated = changes.taken(reminded, due(reminded, ESCALATE), ESCALATE).question

    assert (reminded.next_at_us, escalated.next_at_us) == (ESCALATE, END)
    assert due(escalated, ESCALATE) == Plan(next_at_us=END)
    assert changes.taken(escalated, due(escalated, ESCALATE), ESCALATE).question == escalated


def test_after_its_end_nothing_is_due() -> None:
    over = changes.cancelled(new_question(**waiting()), reason=None, now_us=REMIND).question

    assert due(over, END + HOUR_US) == Plan()
    assert next_at(over) is over.next_at_us is None


@pytest.mark.requirement("ask:sent-in-time")
def test_nothing_expires_before_what_was_sent_in_time_has_been_read_but_not_for_ever() -> None:
    question, latest = new_question(), END + seconds(PATIENCE_SECONDS)

    assert due(question, END, caught_up_until_us=END - 1) == Plan(next_at_us=END + seconds(1))
    assert due(question, latest - 5, caught_up_until_us=0) == Plan(next_at_us=latest)
    assert due(question, END + 5, caught_up_until_us=END) == Plan(steps=(QuestionStep.EXPIRE,))
    assert due(question, latest, caught_up_until_us=0) == Plan(steps=(QuestionStep.EXPIRE,), caught_up=False)


@pytest.mark.requirement("ask:sent-in-time")
def test_who_was_away_first_reads_what_was_sent_meanwhile() -> None:
    question, back = new_question(**waiting()), END + HOUR_US
    latest, soon = back + seconds(PATIENCE_SECONDS), back + seconds(1)

    assert due(question, back, caught_up_until_us=0, awake_since_us=back) == Plan(next_at_us=soon)
    assert due(question, latest, caught_up_until_us=0, awake_since_us=back).steps == (QuestionStep.EXPIRE,)
    assert due(question, back, caught_up_until_us=END, awake_since_us=back) == Plan(steps=(QuestionStep.EXPIRE,))
    later = ESCALATE + 1
    assert due(question, later, caught_up_until_us=0, awake_since_us=later).steps == ()
    assert len(due(question, later, caught_up_until_us=ESCALATE, awake_since_us=later).steps) == 2
    assert len(due(question, later, caught_up_until_us=0, awake_since_us=REMIND).steps) == 2


@given(now_us=st.integers(START_US, END + HOUR_US), caught_up=st.none() | st.integers(START_US, END + HOUR_US))
def test_an_open_question_always_has_a_step_or_a_next_look_ahead(now_us: int, caught_up: int | None) -> None:
    plan = due(replace(new_question(**waiting())), now_us, caught_up_until_us=caught_up)

    assert plan.steps or plan.next_at_us
    assert plan.next_at_us is None or plan.next_at_us > now_us
