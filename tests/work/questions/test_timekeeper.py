"""Reminders, escalation and the end of time, on a real store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.work.questions.asking_office import CHANNELS, HEALTH, Office, opened_office
from tests.work.questions.card_post import CardPost

from postroom.domain.question_states import QuestionStatus
from postroom.domain.time import seconds
from postroom.system.signal import Signal
from postroom.work.questions.cards import CardMaker
from postroom.work.questions.presenter import Presenter
from postroom.work.questions.questions import Questions
from postroom.work.questions.timekeeper import LOOK_SECONDS, Timekeeper


@pytest.fixture
async def office(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Office]:
    async with opened_office("sqlite", tmp_path, request) as one:
        yield one


def keeper(office: Office, post: CardPost, questions: Questions | None = None) -> Timekeeper:
    return Timekeeper(
        questions=questions or office.asking.questions,
        store=office.store,
        shown=office.presentations,
        cards=CardMaker(channels=CHANNELS, key=b"k"),
        outbound=post,
        clock=office.clock,
    )


async def present(office: Office, post: CardPost) -> None:
    presenter = Presenter(
        planning=office.asking.planning,
        claims=office.presentations,
        cards=CardMaker(channels=CHANNELS, key=b"k"),
        post=post,
        clock=office.clock,
        wake=Signal(),
    )
    await presenter.look()
    await presenter.idle()


@pytest.mark.requirement("ask:reminded-once")
async def test_a_reminder_is_one_new_message_that_answers_the_card(office: Office) -> None:
    post = CardPost()
    await office.ask(to="anna", remind_after_seconds=60, deadline_seconds=600)
    await present(office, post)
    times = keeper(office, post)
    assert await times.look() == office.clock.now_us() + seconds(LOOK_SECONDS)
    assert len(post.sent) == 1
    office.clock.jump(60)
    for _ in range(3):
        await times.look()
    reminder = post.sent[-1]
    assert len(post.sent) == 2
    assert reminder.message == "health still waits for an answer to “Ship it?”, by 00:10 UTC."
    assert reminder.revises is None
    assert reminder.context is not None and reminder.context.source_thread_identity == "2000:d1-2"


async def test_a_crash_between_sending_a_reminder_and_noting_it_sends_no_second_one(office: Office) -> None:
    post = CardPost()
    await office.ask(to="anna", remind_after_seconds=60, deadline_seconds=600)
    await present(office, post)
    office.clock.jump(60)
    (question,) = await office.store.due(office.clock.now_us(), 10)
    (shown,) = await office.presentations.of(question.id)
    first = keeper(office, post).cards.reminder(question, shown)
    await post.submit(first, request_id="r", wait_seconds=0)  # and dies
    await keeper(office, post).look()
    assert len(post.sent) == 2


@pytest.mark.requirement("ask:reminded-once")
async def test_escalation_adds_people_and_shows_it_to_them(office: Office) -> None:
    post = CardPost()
    view = await office.ask(to="anna", escalate_to="owner", escalate_after_seconds=60, deadline_seconds=600)
    await present(office, post)
    office.clock.jump(60)
    await keeper(office, post).look()
    await present(office, post)
    question = await office.store.get(view.question.id)
    assert question is not None and [one.id for one in question.people] == ["anna", "owner"]
    assert {one.recipient for one in post.sent} == {"2000", "1000", "olga@example.org"}


@pytest.mark.requirement("ask:sent-in-time")
async def test_a_question_ends_with_its_default_only_after_what_was_sent_has_been_read(office: Office) -> None:
    post, read_until = CardPost(), [0]
    questions = Questions(office.store, office.clock, caught_up=lambda: read_until[0])
    times = keeper(office, post, questions)
    view = await office.ask(to="anna", deadline_seconds=30, default="no")
    office.clock.jump(31)
    assert await times.look() == office.clock.now_us() + seconds(1)
    assert (await office.asking.wait(HEALTH, ask_id=view.question.id, wait_seconds=0)).question.is_open
    read_until[0] = office.clock.now_us()
    await times.look()
    ended = (await office.asking.wait(HEALTH, ask_id=view.question.id, wait_seconds=0)).question
    assert ended.status is QuestionStatus.EXPIRED
    assert ended.answer is not None and ended.answer.value == "no"
