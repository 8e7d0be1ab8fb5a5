"""Figures of questions and their whole story, on SQLite and PostgreSQL."""

from __future__ import annotations

from dataclasses import replace

from tests.clock import START_US
from tests.questions.sample_questions import ANNA, new_attempt, new_question

from postroom.conversations.store import WRITTEN
from postroom.kernel.database.engine import Database
from postroom.kernel.running.process import Seal
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import Principal, Role
from postroom.overview.counts import StoredOverview, WaitingNow
from postroom.questions.model import (
    Attempt,
    PlannedPresentation,
    Presentation,
    Question,
    Said,
    Subject,
    SubjectKind,
    Verdict,
    VerdictKind,
)
from postroom.questions.rules.judge import judge
from postroom.questions.store.presentations import StoredPresentations
from postroom.questions.store.questions import QuestionFigures, StoredQuestions, story

NOW = START_US + seconds(1)


def at_hearing(question: Question, attempt: Attempt, shown: Presentation | None) -> Verdict:
    return judge(question, attempt, attempt.heard_at_us, shown)


async def test_only_open_questions_wait_for_those_they_ask(database: Database) -> None:
    store, figures = StoredQuestions(database, Seal(bytes(32))), QuestionFigures(database)
    first = new_question()
    for question in (first, new_question(question="Second?"), new_question(question="Third?", people=(ANNA,))):
        await store.ask(question)
    await store.hear(new_attempt(first), at_hearing)

    assert [await figures.waiting_for(who) for who in ("anna", "ben", "cleo")] == [2, 1, 0]


async def test_what_is_about_one_kind_of_thing_can_be_left_out(database: Database) -> None:
    store, figures = StoredQuestions(database, Seal(bytes(32))), QuestionFigures(database)
    subjects = (None, Subject(SubjectKind.APPROVAL, "a"), Subject(SubjectKind.INTENT, "c"))
    for number, subject in enumerate(subjects):
        await store.ask(replace(new_question(question=f"{number}?", people=(ANNA,)), subject=subject))

    besides = await store.listing(person_id="anna", besides=SubjectKind.APPROVAL)

    assert [await figures.waiting_for("anna"), await figures.waiting_for("anna", SubjectKind.APPROVAL)] == [3, 2]
    assert {one.wording.question for one in besides} == {"0?", "2?"}
    waits = await StoredOverview(database).waits(Principal(Role.PERSON, "anna"), NOW)
    assert waits == WaitingNow(questions=3, approvals=1, unread=0, held=0)


async def test_the_pulse_moves_with_every_question_card_and_end(database: Database) -> None:
    store, figures = StoredQuestions(database, Seal(bytes(32))), QuestionFigures(database)
    cards = StoredPresentations(database, lambda _: "card-1", WRITTEN)
    question = new_question()
    pulses = [await figures.pulse()]
    await store.ask(question)
    pulses.append(await figures.pulse())
    place = PlannedPresentation(person_id="anna", channel="telegram", address="555")
    await cards.plan(question.id, ["anna"], [place], NOW)
    pulses.append(await figures.pulse())
    await store.hear(new_attempt(question), at_hearing)
    pulses.append(await figures.pulse())

    assert len(set(pulses)) == 4 and pulses[0] == (0, 0, 0, 0)
    assert pulses[2][0] == NOW


async def test_a_story_has_the_cards_and_all_attempts_in_order(database: Database) -> None:
    store, cards = (
        StoredQuestions(database, Seal(bytes(32))),
        StoredPresentations(database, lambda _: "card-1", WRITTEN),
    )
    question = new_question()
    await store.ask(question)
    await cards.plan(
        question.id, ["anna"], [PlannedPresentation(person_id="anna", channel="telegram", address="555")], NOW
    )
    await store.hear(new_attempt(question), at_hearing)
    await store.hear(new_attempt(question, Said(value="wait"), person_id="ben", person_name="Ben"), at_hearing)

    found = await database.read(lambda connection: story(connection, question.id))
    nothing = await database.read(lambda connection: story(connection, "none"))

    assert found is not None and nothing is None
    assert [one.channel for one in found.presentations] == ["telegram"]
    assert [one.verdict.kind for one in found.attempts] == [VerdictKind.ACCEPTED, VerdictKind.LOST_RACE]
    assert found.question.answer is not None and found.question.answer.value == "ship"
