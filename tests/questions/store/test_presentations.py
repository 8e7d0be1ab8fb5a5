"""Presentations on disk: one suite for SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing as closed_after
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from tests.clock import START_US
from tests.opened_database import opened_file
from tests.patience import PATIENCE_SECONDS
from tests.questions.sample_questions import MINT, new_attempt, new_question

from postroom.conversations.model import RoutedMessage, RouteKind
from postroom.conversations.store import WRITTEN, StoredInbound
from postroom.kernel.database.engine import Database
from postroom.kernel.running.process import Seal
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.ids import seconds
from postroom.message.inbound import InboundMessage
from postroom.questions.model import (
    Attempt,
    PlannedPresentation,
    Presentation,
    PresentationClaim,
    Question,
    Said,
    Shown,
    Token,
    TokenAction,
    Verdict,
)
from postroom.questions.model import PresentationMove as Move
from postroom.questions.model import PresentationStatus as Status
from postroom.questions.rules import plan
from postroom.questions.rules.judge import judge
from postroom.questions.store.presentations import StoredPresentations
from postroom.questions.store.questions import StoredQuestions

NOW = START_US + seconds(1)
LEASE = NOW + seconds(30)
TELEGRAM = PlannedPresentation(person_id="anna", channel="telegram", address="555")
MAIL = PlannedPresentation(person_id="ben", channel="email", address="ben@example.org")
NOWHERE = PlannedPresentation(person_id="ben", channel="sms", address="-", failure="no such channel")
Refused = (DBAPIError, PostroomError)
SHOWN = Shown(move=Move.SHOW, revision=1, provider_ids=["7", "8"])


@pytest.fixture
def store(database: Database) -> StoredQuestions:
    return StoredQuestions(database, Seal(bytes(32)))


@pytest.fixture
def cards(database: Database) -> StoredPresentations:
    return StoredPresentations(database, MINT.mint, WRITTEN)


@pytest.fixture
async def question(store: StoredQuestions) -> Question:
    return (await store.ask(new_question())).question


def at_hearing(question: Question, attempt: Attempt, shown: Presentation | None) -> Verdict:
    return judge(question, attempt, attempt.heard_at_us, shown)


async def planned(cards: StoredPresentations, question: Question) -> None:
    await cards.plan(question.id, ["anna", "ben"], [TELEGRAM, MAIL], NOW)


async def one_to_show(cards: StoredPresentations, question: Question) -> PresentationClaim:
    await cards.plan(question.id, ["anna", "ben"], [TELEGRAM], NOW)
    (claim,) = await cards.due(NOW, lease_until_us=LEASE, limit=10)
    return claim


async def statuses(cards: StoredPresentations, question: Question) -> dict[str, Status]:
    return {one.channel: one.status for one in await cards.of(question.id)}


async def test_a_question_is_to_be_planned_until_its_people_have_a_place(
    store: StoredQuestions, cards: StoredPresentations, question: Question
) -> None:
    assert await cards.to_plan(10) == [question]
    assert await cards.unplanned(question.id) == {"anna", "ben"}

    await cards.plan(question.id, ["anna"], [TELEGRAM], NOW)
    assert await cards.unplanned(question.id) == {"ben"}
    await cards.plan(question.id, ["anna", "ben"], [TELEGRAM, NOWHERE], NOW)

    assert await cards.to_plan(10) == []
    assert await statuses(cards, question) == {"telegram": Status.PLANNED, "sms": Status.FAILED}
    assert [one.reason for one in await cards.of(question.id)] == [None, "no such channel"]


async def test_those_who_are_added_later_are_to_be_planned_too(
    store: StoredQuestions, cards: StoredPresentations
) -> None:
    question = (await store.ask(new_question(escalate_to="cleo", escalate_after_seconds=60))).question
    await planned(cards, question)
    await store.change(question.id, partial(plan.escalated, now_us=NOW))

    assert [one.id for one in await cards.to_plan(10)] == [question.id]
    assert await cards.unplanned(question.id) == {"cleo"}


async def test_a_question_that_ended_gets_no_new_place(
    store: StoredQuestions, cards: StoredPresentations, question: Question
) -> None:
    await store.hear(new_attempt(question), at_hearing)

    assert await cards.plan(question.id, ["anna"], [TELEGRAM], NOW) == []
    assert await cards.to_plan(10) == []


async def test_looking_while_nothing_is_due_waits_for_no_one_who_writes(tmp_path: Path) -> None:
    async with opened_file(tmp_path) as database:
        cards = StoredPresentations(database, MINT.mint, WRITTEN)
        with closed_after(sqlite3.connect(tmp_path / "postroom.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")

            async with asyncio.timeout(PATIENCE_SECONDS):
                assert await cards.due(NOW, lease_until_us=LEASE, limit=10) == []


@pytest.mark.requirement("ask:shown-once")
async def test_what_a_lost_process_held_is_taken_up_and_its_own_word_no_longer_counts(
    cards: StoredPresentations, question: Question
) -> None:
    lost = await one_to_show(cards, question)
    assert await cards.due(NOW, lease_until_us=LEASE, limit=10) == []
    assert await cards.next_due(NOW) == LEASE

    (found,) = await cards.due(LEASE, lease_until_us=LEASE + seconds(30), limit=10)

    assert (lost.taken_up, found.taken_up) == (False, True)
    assert not await cards.presented(lost, SHOWN, LEASE)
    assert not await cards.submitted(lost, "d1", revision=1, look_again_us=LEASE, now_us=LEASE)
    assert await cards.presented(found, SHOWN, LEASE)
    assert not await cards.presented(found, Shown(move=Move.FAIL), LEASE), "a claim is used once"
    assert await statuses(cards, question) == {"telegram": Status.SHOWN}
    assert await cards.next_due(NOW) is None


@pytest.mark.requirement("ask:shown-once")
async def test_claims_of_an_earlier_process_are_let_go_up_to_the_moment_that_is_named(
    cards: StoredPresentations, question: Question
) -> None:
    lost = await one_to_show(cards, question)
    await cards.let_go(LEASE - 1, NOW)
    assert await cards.due(NOW, lease_until_us=LEASE, limit=10) == []

    await cards.let_go(LEASE, NOW)
    (found,) = await cards.due(NOW, lease_until_us=LEASE, limit=10)

    assert (found.taken_up, found.presentation.id) == (True, lost.presentation.id)


async def test_a_card_remembers_its_delivery_and_all_its_parts(cards: StoredPresentations, question: Question) -> None:
    claim = await one_to_show(cards, question)
    assert await cards.submitted(claim, "d1", revision=1, look_again_us=NOW + 5, now_us=NOW)
    (again,) = await cards.due(NOW + 5, lease_until_us=LEASE, limit=10)
    assert (again.presentation.delivery_id, again.presentation.revision) == ("d1", 1)
    assert await cards.later(again, NOW + 9)
    (again,) = await cards.due(NOW + 9, lease_until_us=LEASE, limit=10)
    await cards.presented(again, SHOWN, NOW)

    (card,) = await cards.of(question.id)
    assert card.provider_ids == ("7", "8")
    assert await cards.behind("telegram", "555", "8") == card
    assert await cards.behind("telegram", "556", "8") is None
    assert await cards.open_on("telegram") == [card]


async def test_an_end_closes_what_was_shown_and_leaves_what_was_not(
    store: StoredQuestions, cards: StoredPresentations, question: Question
) -> None:
    claim = await one_to_show(cards, question)
    await cards.presented(claim, SHOWN, NOW)
    await cards.plan(question.id, ["anna", "ben"], [MAIL], NOW)

    await store.hear(new_attempt(question), at_hearing)

    assert await statuses(cards, question) == {"telegram": Status.CLOSING, "email": Status.LEFT}
    assert await cards.open_on("telegram") == []
    (closing,) = await cards.due(NOW, lease_until_us=LEASE, limit=10)
    assert closing.question.status == "answered"
    assert await cards.due(NOW, lease_until_us=LEASE, limit=10) == []
    assert await cards.presented(closing, Shown(move=Move.CLOSE), NOW)
    assert await statuses(cards, question) == {"telegram": Status.CLOSED, "email": Status.LEFT}


async def test_a_card_that_comes_up_after_the_end_is_closed(
    store: StoredQuestions, cards: StoredPresentations, question: Question
) -> None:
    claim = await one_to_show(cards, question)
    await store.hear(new_attempt(question), at_hearing)
    assert await statuses(cards, question) == {"telegram": Status.PLANNED}

    assert await cards.presented(claim, SHOWN, NOW)

    assert await statuses(cards, question) == {"telegram": Status.CLOSING}
    (closing,) = await cards.due(NOW, lease_until_us=LEASE, limit=10)
    assert await cards.presented(closing, Shown(move=Move.LEAVE, failure="deleted"), NOW)
    assert [one.reason for one in await cards.of(question.id)] == ["deleted"]


async def test_ending_and_showing_at_the_same_moment_never_leave_a_card_open(
    store: StoredQuestions, cards: StoredPresentations
) -> None:
    for number in range(6):
        question = (await store.ask(new_question(idempotency_key=f"k{number}"))).question
        claim = await one_to_show(cards, question)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asyncio.gather(cards.presented(claim, SHOWN, NOW), store.hear(new_attempt(question), at_hearing))
        assert await statuses(cards, question) == {"telegram": Status.CLOSING}
        for closing in await cards.due(NOW, lease_until_us=LEASE, limit=10):
            await cards.presented(closing, Shown(move=Move.CLOSE), NOW)


@pytest.mark.requirement("ask:old-buttons-die")
async def test_a_new_wording_is_to_be_shown_on_the_card_and_its_ticks_are_gone(
    store: StoredQuestions, cards: StoredPresentations
) -> None:
    question = (await store.ask(new_question(multiple=True))).question
    await cards.presented(await one_to_show(cards, question), SHOWN, NOW)
    (card,) = await cards.of(question.id)
    await store.hear(new_attempt(question, Said(toggle="ship"), presentation_id=card.id), at_hearing)
    assert (await cards.of(question.id))[0].toggles == ("ship",)

    wording = replace(question.wording, question="Ship what?")
    await store.change(question.id, partial(plan.revised, wording=wording, now_us=NOW))

    (claim,) = await cards.due(NOW, lease_until_us=LEASE, limit=10)
    assert (claim.presentation.revision, claim.question.revision, claim.presentation.toggles) == (1, 2, ())
    assert await cards.presented(claim, Shown(move=Move.SHOW, revision=2), NOW)
    assert await cards.due(LEASE, lease_until_us=LEASE, limit=10) == []
    (card,) = await cards.of(question.id)
    assert (card.status, card.revision, card.provider_ids) == (Status.SHOWN, 2, ("7", "8"))


async def test_a_card_that_comes_up_with_the_old_wording_is_due_again(
    store: StoredQuestions, cards: StoredPresentations, question: Question
) -> None:
    claim = await one_to_show(cards, question)
    wording = replace(question.wording, question="Ship what?")
    await store.change(question.id, partial(plan.revised, wording=wording, now_us=NOW))

    await cards.presented(claim, SHOWN, NOW)

    (again,) = await cards.due(NOW, lease_until_us=LEASE, limit=10)
    assert (again.presentation.revision, again.question.revision) == (1, 2)


async def test_a_press_is_found_by_the_hash_of_its_token(cards: StoredPresentations, question: Question) -> None:
    await planned(cards, question)
    card = (await cards.of(question.id))[0]
    token = Token(hash="h1", presentation_id=card.id, action=TokenAction.OPTION, option="ship", revision=1)

    await cards.issue([token])
    await cards.issue([token, replace(token, hash="h2", action=TokenAction.DECLINE, option=None)])
    await cards.issue([])

    pressed = await cards.pressed("h1")
    assert pressed is not None
    assert (pressed.token, pressed.presentation) == (token, card)
    assert await cards.pressed("h2") is not None
    assert await cards.pressed("h3") is None


@pytest.mark.requirement("ask:unnumbered")
async def test_a_message_whose_number_never_reached_us_may_be_the_card_that_was_on_its_way(
    cards: StoredPresentations, question: Question
) -> None:
    await planned(cards, question)
    assert await cards.perhaps("telegram", "555", "7") == []

    claim = next(
        one for one in await cards.due(NOW, lease_until_us=LEASE, limit=10) if one.presentation.channel == "telegram"
    )
    assert [one.id for one in await cards.perhaps("telegram", "555", "7")] == [claim.presentation.id]
    assert await cards.perhaps("telegram", "556", "7") == []

    await cards.presented(claim, SHOWN, NOW)
    assert await cards.perhaps("telegram", "555", "9") == []


async def test_words_about_a_card_that_is_not_noted_yet_are_about_its_first_wording(
    store: StoredQuestions, cards: StoredPresentations, question: Question
) -> None:
    claim = await one_to_show(cards, question)
    words = replace(new_attempt(question, presentation_id=claim.presentation.id), said=Said(text="ship"), revision=None)

    heard = await store.hear(words, at_hearing)

    assert heard is not None and str(heard.verdict.kind) == "accepted"


@pytest.mark.requirement("ask:states")
async def test_the_database_itself_refuses_an_impossible_move(
    cards: StoredPresentations, question: Question, database: Database
) -> None:
    await planned(cards, question)
    table = "presentations" if "sqlite" in type(database).__module__ else "shared.presentations"

    with pytest.raises(Refused):
        await database.write(lambda connection: connection.execute(text(f"UPDATE {table} SET status = 'closed'")))


@pytest.mark.requirement("ask:own-words")
async def test_a_card_awaits_the_next_message_there_and_no_other(
    database: Database, cards: StoredPresentations, question: Question
) -> None:
    claim = await one_to_show(cards, question)
    here = ["555", "@anna"]
    assert await cards.awaited("telegram", here) is None

    await cards.await_words(claim.presentation.id, NOW)
    awaited = await cards.awaited("telegram", here)
    assert awaited is not None and awaited.id == claim.presentation.id
    assert await cards.awaited("telegram", ["556"]) is None
    assert await cards.awaited("slack", here) is None

    inbound = StoredInbound(database, MINT.mint)
    words = InboundMessage(channel="telegram", number=1, message_id="1", places=("555", "@anna"), sender="555")
    await inbound.keep(words, NOW + 1)
    assert await cards.awaited("telegram", here) == awaited  # this very message, while it is heard
    await inbound.decide(words, RoutedMessage(kind=RouteKind.COMMAND, reason="it is a command"), "anna", NOW + 2)
    assert await cards.awaited("telegram", here) is None
