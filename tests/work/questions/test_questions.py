"""Questions from beginning to end, on a real store and with a clock that only the test turns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.clock import START_US, FakeClock
from tests.opened_database import opened_file
from tests.work.questions.sample_questions import HOUR_US, new_attempt, new_question

from postroom.domain.answer_attempt import Said, VerdictKind
from postroom.domain.question import Question
from postroom.domain.question_states import QuestionStatus
from postroom.domain.time import seconds
from postroom.system.seal import Seal
from postroom.work.questions.moves import NOT_CAUGHT_UP
from postroom.work.questions.questions import KeyReused, Questions
from postroom.world.store.questions.questions import StoredQuestions


class House:
    """What a household has around its questions."""

    def __init__(self, store: StoredQuestions) -> None:
        self.clock = FakeClock()
        self.rung: list[QuestionStatus] = []
        self.caught_up_us: int | None = None
        self.store = store
        self.questions = Questions(store, self.clock, changed=self.ring, caught_up=lambda: self.caught_up_us)

    def ring(self, question: Question) -> None:
        self.rung.append(question.status)

    async def status(self, question: Question) -> QuestionStatus:
        found = await self.store.get(question.id)
        assert found is not None
        return found.status


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with opened_file(tmp_path) as database:
        yield House(StoredQuestions(database, Seal(bytes(32))))


async def test_a_question_is_asked_answered_and_the_bell_rings_for_both(house: House) -> None:
    question = (await house.questions.ask(new_question())).question
    assert (await house.questions.ask(new_question())).joined
    await house.clock.advance(60)
    attempt = new_attempt(question, heard_at_us=0)

    heard = await house.questions.hear(attempt)
    again = await house.questions.hear(attempt)

    assert heard and heard.question.ended_at_us == START_US + seconds(60)
    assert again and again.repeated
    assert house.rung == [QuestionStatus.OPEN, QuestionStatus.ANSWERED]


@pytest.mark.requirement("ask:idempotent")
async def test_a_key_that_stands_for_another_question_is_refused_with_its_id(house: House) -> None:
    first = (await house.questions.ask(new_question(idempotency_key="k1"))).question

    with pytest.raises(KeyReused) as caught:
        await house.questions.ask(new_question(idempotency_key="k1", question="Stop it?"))

    assert caught.value.ask_id == first.id
    assert [(item.field, item.code) for item in caught.value.fields] == [("idempotency_key", "key_reused")]


async def test_a_question_is_revised_cancelled_or_superseded(house: House) -> None:
    one, two = [(await house.questions.ask(new_question(idempotency_key=key))).question for key in ("a", "b")]

    revised = await house.questions.revise(one.id, replace(one.wording, question="Now?"))
    cancelled = await house.questions.cancel(one.id, "enough")
    superseded = await house.questions.supersede(two.id, one.id)

    assert revised and revised.revision == 2
    assert cancelled and (cancelled.status, cancelled.reason) == (QuestionStatus.CANCELLED, "enough")
    assert superseded and superseded.status is QuestionStatus.SUPERSEDED
    assert await house.questions.cancel("no-such") is None
    assert await house.questions.hear(new_attempt(new_question())) is None


async def test_a_look_reminds_escalates_and_ends_in_time(house: House) -> None:
    asked = new_question(remind_after_seconds=60, escalate_to="cleo", escalate_after_seconds=120)
    question = (await house.questions.ask(asked)).question

    assert await house.questions.look() == START_US + seconds(60)
    await house.clock.advance(60)
    assert await house.questions.look() == START_US + seconds(120)
    await house.clock.advance(60)
    assert await house.questions.look() == START_US + HOUR_US
    found = await house.store.get(question.id)
    assert found and found.asks("cleo")
    await house.clock.advance(3600)
    assert await house.questions.look() is None
    assert await house.status(question) is QuestionStatus.EXPIRED
    assert [str(event.type) for event in await house.store.history(question.id)] == [
        "ask.opened",
        "ask.reminded",
        "ask.escalated",
        "ask.expired",
    ]


@pytest.mark.requirement("ask:sent-in-time")
async def test_a_text_that_was_sent_in_time_wins_while_the_end_waits_for_it(house: House) -> None:
    question = (await house.questions.ask(new_question())).question
    house.caught_up_us = START_US
    await house.clock.advance(3630)
    assert await house.questions.look() == START_US + seconds(3631)

    heard = await house.questions.hear(new_attempt(question, Said(text="ship"), said_at_us=START_US + HOUR_US))

    assert heard and heard.verdict.kind is VerdictKind.ACCEPTED
    assert await house.questions.look() is None


@pytest.mark.requirement("ask:sent-in-time")
async def test_after_a_sleep_of_the_machine_a_text_that_was_sent_in_time_is_read_first(house: House) -> None:
    question = (await house.questions.ask(new_question())).question
    house.caught_up_us = START_US
    await house.questions.next_step_us()
    await house.clock.advance(8 * 3600)
    await house.questions.look()

    heard = await house.questions.hear(new_attempt(question, Said(text="ship"), said_at_us=START_US + HOUR_US))

    assert heard and heard.verdict.kind is VerdictKind.ACCEPTED


@pytest.mark.requirement("ask:sent-in-time")
async def test_an_end_waits_a_minute_at_most_and_says_what_it_could_not_read(house: House) -> None:
    question = (await house.questions.ask(new_question())).question
    house.caught_up_us = START_US
    await house.clock.advance(3600)
    await house.questions.look()
    for _ in range(3):
        await house.clock.advance(20)
        await house.questions.look()

    found = await house.store.get(question.id)
    assert found and (found.status, found.reason) == (QuestionStatus.EXPIRED, NOT_CAUGHT_UP)
