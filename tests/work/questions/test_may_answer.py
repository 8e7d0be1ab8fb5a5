"""Who is offered buttons: those whose answer the judge would take."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.clock import START_US
from tests.work.questions.sample_questions import HOUR_US, new_question

from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.domain.question_states import QuestionStatus
from postroom.work.questions.may_answer import may_answer

ANNA = Principal(Role.PERSON, "anna")
WHO = {
    "asked": (ANNA, True),
    "asked, by an inbox token": (Principal(Role.USER, "anna"), True),
    "another person": (Principal(Role.PERSON, "zoe"), False),
    "the operator": (OPERATOR, True),
    "the owner, who was not asked": (Principal(Role.PERSON, "owner"), False),
    "a butler": (Principal(Role.BUTLER, "anna"), False),
    "a program of hers": (Principal(Role.PROGRAM, "cron", person="anna"), False),
}


@pytest.mark.parametrize(("who", "may"), WHO.values(), ids=WHO)
def test_those_who_were_asked_and_the_operator_may(who: Principal, may: bool) -> None:
    assert may_answer(who, new_question(), START_US) is may


def test_whoever_asks_may_not() -> None:
    assert not may_answer(ANNA, new_question(asker="person:anna"), START_US)


def test_after_the_end_no_one_may() -> None:
    question = new_question()

    assert not may_answer(ANNA, replace(question, status=QuestionStatus.CANCELLED), START_US)
    assert not may_answer(ANNA, question, START_US + 2 * HOUR_US)
