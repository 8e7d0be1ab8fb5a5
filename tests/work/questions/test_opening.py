"""A checked request becomes an open question."""

from __future__ import annotations

from dataclasses import replace

from tests.clock import START_US
from tests.work.questions.sample_questions import ANNA, BEN, HOUR_US, new_question

from postroom.domain.question import Added
from postroom.domain.question_states import QuestionStatus


def test_it_is_open_until_its_deadline_and_knows_when_something_is_due() -> None:
    question = new_question(remind_after_seconds=60)

    assert (question.status, question.revision) == (QuestionStatus.OPEN, 1)
    assert question.expires_at_us == START_US + HOUR_US
    assert question.next_at_us == START_US + 60_000_000
    assert question.fingerprint == question.revision_hash


def test_a_person_named_twice_is_asked_once() -> None:
    question = new_question(people=(ANNA, BEN, replace(ANNA, name="Anna B.")))

    assert [person.id for person in question.people] == ["anna", "ben"]


def test_those_it_escalates_to_may_not_answer_yet() -> None:
    question = new_question(escalate_to="cleo", escalate_after_seconds=60)

    assert not question.asks("cleo")
    assert [person.added for person in question.escalate_to] == [Added.ESCALATED]
