"""Changes of a question that are not a person's answer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.clock import START_US
from tests.work.questions.sample_questions import HOUR_US, new_question

from postroom.domain.question_answer import BY_DEFAULT, QuestionAnswer
from postroom.domain.question_change import QuestionEventType as Type
from postroom.domain.question_states import QuestionStatus
from postroom.domain.time import seconds
from postroom.work.questions import moves

NOW = START_US + seconds(60)


@pytest.mark.requirement("ask:default")
def test_silence_has_the_default_as_its_answer_and_says_that_no_person_acted() -> None:
    with_one = moves.expired(new_question(default="wait"), caught_up=True, now_us=NOW).question
    without = moves.expired(new_question(), caught_up=True, now_us=NOW).question

    assert (with_one.status, with_one.answer, with_one.answered_by) == (
        QuestionStatus.EXPIRED,
        QuestionAnswer(value="wait"),
        BY_DEFAULT,
    )
    assert (without.answer, without.answered_by, without.reason) == (None, None, None)


def test_an_end_that_could_not_wait_for_everything_says_so() -> None:
    assert moves.expired(new_question(), caught_up=False, now_us=NOW).question.reason == moves.NOT_CAUGHT_UP


def test_a_cancelled_and_a_superseded_question_say_why() -> None:
    cancelled = moves.cancelled(new_question(), reason="not needed", now_us=NOW)
    superseded = moves.superseded(new_question(), by="q2", now_us=NOW)

    assert (cancelled.event, cancelled.question.reason) == (Type.CANCELLED, "not needed")
    assert (superseded.event, superseded.question.superseded_by) == (Type.SUPERSEDED, "q2")
    assert cancelled.question.ended_at_us == NOW


def test_another_wording_is_another_revision_and_another_deadline_is_not() -> None:
    question = new_question()
    words = moves.revised(question, replace(question.wording, question="Now?"), now_us=NOW)
    later = moves.revised(question, question.wording, expires_at_us=NOW + HOUR_US, now_us=NOW)
    same = moves.revised(question, question.wording, now_us=NOW)

    assert (words.event, words.question.revision, words.note) == (Type.REVISED, 2, {"revision": 2})
    assert words.question.revision_hash != question.revision_hash
    assert words.question.fingerprint == question.fingerprint
    assert (later.event, later.question.revision) == (Type.REVISED, 1)
    assert later.question.next_at_us == later.question.expires_at_us == NOW + HOUR_US
    assert (same.event, same.question) == (None, question)


def test_escalation_adds_people_once_and_removes_none() -> None:
    question = new_question(escalate_to="cleo", escalate_after_seconds=60)
    once = moves.escalated(question, now_us=NOW)
    twice = moves.escalated(once.question, now_us=NOW)

    assert [person.id for person in once.question.people] == ["anna", "ben", "cleo"]
    assert (once.event, once.note) == (Type.ESCALATED, {"people": ["cleo"]})
    assert twice.event is None


def test_a_revision_after_an_escalation_is_still_the_question_that_was_asked() -> None:
    question = new_question(escalate_to="cleo", escalate_after_seconds=60)
    escalated = moves.escalated(question, now_us=NOW).question

    assert moves.revised(escalated, question.wording, now_us=NOW).event is None
