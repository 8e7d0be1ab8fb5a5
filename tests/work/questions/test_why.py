"""Why a question is where it is, in plain sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.clock import START_US
from tests.work.questions.sample_questions import ANNA, HOUR_US, new_attempt, new_question

from postroom.domain.answer_attempt import Attempt, KeptAttempt, Said, Verdict, VerdictKind
from postroom.domain.assurance import Assurance
from postroom.domain.presentation import Presentation
from postroom.domain.question import Question
from postroom.domain.question_answer import BY_DEFAULT, AnsweredBy, QuestionAnswer
from postroom.domain.question_states import PresentationStatus, QuestionStatus
from postroom.domain.time import seconds
from postroom.work.questions.view import QuestionStory, QuestionView
from postroom.work.questions.why import sentences, why_question

LATER_US = START_US + seconds(120)
BY_ANNA = AnsweredBy(person_id="anna", name="Anna", channel="telegram", assurance=Assurance.CHANNEL)


def card(status: PresentationStatus, channel: str = "telegram", **more: Any) -> Presentation:
    given = {"id": channel, "question_id": "q", "person_id": "anna", "channel": channel, "address": "1", **more}
    return Presentation(status=status, created_at_us=START_US, updated_at_us=START_US, **given)


def ended(question: Question, status: QuestionStatus, **more: Any) -> Question:
    return replace(question, status=status, ended_at_us=START_US + seconds(60), **more)


def told(question: Question, *cards: Presentation, attempts: tuple[KeptAttempt, ...] = ()) -> str:
    view = QuestionView(question=question, presentations=cards)
    return why_question(QuestionStory(view=view, events=(), attempts=attempts), LATER_US)


def in_vain(attempt: Attempt, kind: VerdictKind, reason: str) -> tuple[KeptAttempt]:
    return (KeptAttempt(attempt=attempt, verdict=Verdict(kind=kind, reason=reason)),)


def test_an_open_question_says_whom_it_asks_and_until_when() -> None:
    assert told(new_question(default="wait"), card(PresentationStatus.SHOWN)) == (
        "general asked Anna and Ben “Ship it?” 2 minutes ago; any one of them may answer. "
        "It was shown to Anna on telegram. "
        "It is still open and ends by itself in 58 minutes; then “wait” stands."
    )


CARDS = {
    "failed": (
        card(PresentationStatus.FAILED, reason="no address"),
        "It could not be shown to Anna on telegram: no ad",
    ),
    "uncertain": (card(PresentationStatus.UNCERTAIN), "It may or may not have arrived to Anna on telegram."),
    "later": (
        card(PresentationStatus.PLANNED, due_at_us=LATER_US + seconds(180)),
        "It comes to Anna on telegram in 3 minutes if no one answers before.",
    ),
    "held up": (
        card(PresentationStatus.PLANNED, reason="the limit"),
        "It is on its way to Anna on telegram: the limit.",
    ),
    "left": (
        card(PresentationStatus.LEFT, revision=1),
        "It was shown to Anna on telegram. The card on telegram stays as it was.",
    ),
    "never shown": (
        card(PresentationStatus.LEFT, reason="too late"),
        "It was not shown to Anna on telegram: too late.",
    ),
}


@pytest.mark.parametrize(("one", "sentence"), CARDS.values(), ids=CARDS)
def test_each_place_says_why_it_was_not_shown_there(one: Presentation, sentence: str) -> None:
    assert sentence in told(new_question(people=(ANNA,)), one)


def test_each_person_is_named_once_with_all_places() -> None:
    bens = card(PresentationStatus.CLOSED, "email", person_id="ben")
    cards = (card(PresentationStatus.SHOWN), card(PresentationStatus.SHOWN, "ntfy"), bens)

    assert "It was shown to Anna on telegram and ntfy and to Ben on email." in told(new_question(), *cards)


def test_it_is_said_when_no_one_was_reached() -> None:
    alone = new_question(people=(ANNA,))

    assert "it waits in the console" in told(alone)
    assert "No one was reached on any channel" in told(alone, card(PresentationStatus.FAILED))
    assert "No one was reached" not in told(
        alone, card(PresentationStatus.FAILED), card(PresentationStatus.SHOWN, "email")
    )


ENDS = {
    "answered": (
        {"answer": QuestionAnswer(value="ship"), "answered_by": BY_ANNA},
        "Anna answered “ship” via telegram 1 minute ago.",
    ),
    "declined": ({"answered_by": BY_ANNA}, "Anna would rather not answer, said via telegram 1 minute ago."),
    "expired": ({}, "No one answered in time; it ended 1 minute ago."),
    "cancelled": ({"reason": "done"}, "It was taken back 1 minute ago: done."),
    "superseded": ({"superseded_by": "q2"}, "Another question (q2) took its place 1 minute ago."),
}


@pytest.mark.parametrize(("status", "changes", "sentence"), [(name, *one) for name, one in ENDS.items()], ids=ENDS)
def test_every_end_has_its_sentence(status: str, changes: dict[str, Any], sentence: str) -> None:
    assert sentence in told(ended(new_question(), QuestionStatus(status), **changes))


def test_a_default_is_no_persons_word() -> None:
    over = ended(new_question(), QuestionStatus.EXPIRED, answer=QuestionAnswer(value="wait"), answered_by=BY_DEFAULT)

    assert "No one answered in time, so its default “wait” stands" in told(over)


def test_a_secret_says_that_and_not_what_was_answered() -> None:
    secret = new_question(question="The code?", options=None, kind="text", secret=True)
    tried = in_vain(new_attempt(secret, Said()), VerdictKind.LATE, "the time for an answer is over")
    over = ended(secret, QuestionStatus.ANSWERED, answered_by=BY_ANNA)

    assert "Anna answered via telegram 1 minute ago." in told(over, attempts=tried)
    assert "An answer of Anna via telegram" in told(over, attempts=tried)


def test_what_came_second_is_told_and_the_words_of_strangers_are_not() -> None:
    question = new_question()
    second = in_vain(new_attempt(question, Said(value="wait")), VerdictKind.LOST_RACE, "Ben was first")
    stranger = new_attempt(question, Said(text="Buy now"), person_id=None, person_name="")
    unknown = in_vain(stranger, VerdictKind.UNAUTHORISED, "this sender is not verified")

    said = told(question, attempts=(*second, *unknown))
    assert "An answer “wait” of Anna via telegram 1 minute ago changed nothing: Ben was first." in said
    assert "An answer of someone unknown via telegram" in said and "Buy now" not in said


def test_reminders_and_those_who_were_added_are_named() -> None:
    question = new_question(escalate_to=["cleo"], escalate_after_seconds=60)
    people = (*question.people, *question.escalate_to)
    later = replace(question, people=people, reminded_at_us=START_US, escalated_at_us=START_US)

    assert "A reminder was sent 2 minutes ago. It was passed on to Cleo 2 minutes ago." in told(later)


def test_a_question_without_words_still_has_a_story() -> None:
    erased = new_question()
    erased = replace(erased, wording=replace(erased.wording, question=""))
    view = QuestionView(question=erased)

    first = next(sentences(QuestionStory(view=view, events=(), attempts=()), START_US + HOUR_US))
    assert "a question whose words have been erased" in first
