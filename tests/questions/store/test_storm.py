"""Everything at once from two processes on both databases: one end each, nothing lost, no card forgotten."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from tests.clock import START_US
from tests.opened_database import KINDS, opened_database
from tests.questions.sample_questions import HOUR_US, MINT, new_attempt, new_question

from postroom.conversations.store import WRITTEN
from postroom.kernel.database.engine import Database
from postroom.kernel.running.process import Seal
from postroom.kernel.values.ids import seconds
from postroom.questions.model import (
    ENDED,
    EVENT_OF_END,
    Attempt,
    Heard,
    PlannedPresentation,
    Presentation,
    PresentationMove,
    PresentationStatus,
    Question,
    Said,
    Shown,
    Verdict,
    VerdictKind,
)
from postroom.questions.rules import plan
from postroom.questions.rules.judge import judge
from postroom.questions.store.presentations import StoredPresentations
from postroom.questions.store.questions import StoredQuestions
from postroom.questions.store.tables import presentations

NOW = START_US + seconds(1)
CHANNELS = ("telegram", "email", "desk", "console")
QUESTIONS, ATTEMPTS = 6, 16


class Process:
    """One of several that share a database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.store = StoredQuestions(database, Seal(bytes(32)))
        self.cards = StoredPresentations(database, MINT.mint, WRITTEN)

    async def show(self) -> list[str]:
        claims = await self.cards.due(NOW, lease_until_us=NOW + HOUR_US, limit=5)
        shown = Shown(move=PresentationMove.SHOW, revision=1)
        for claim in claims:
            await self.cards.presented(claim, replace(shown, provider_ids=[claim.presentation.id]), NOW)
        return [claim.presentation.id for claim in claims if claim.presentation.status is PresentationStatus.PLANNED]

    async def close(self) -> list[str]:
        claims = await self.cards.due(NOW, lease_until_us=NOW + HOUR_US, limit=5)
        for claim in claims:
            await self.cards.presented(claim, Shown(move=PresentationMove.CLOSE), NOW)
        return [claim.presentation.id for claim in claims]


@pytest.fixture(params=KINDS)
async def processes(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[list[Process]]:
    async with AsyncExitStack() as stack:
        opened = [opened_database(request.param, tmp_path, request) for _ in range(2)]
        yield [Process(await stack.enter_async_context(one)) for one in opened]


def at_hearing(question: Question, attempt: Attempt, shown: Presentation | None) -> Verdict:
    return judge(question, attempt, attempt.heard_at_us, shown)


def tried(question: Question, dice: random.Random) -> Attempt:
    said = dice.choice([Said(value="ship"), Said(text="wait"), Said(value="no such"), Said(declined=True)])
    person = dice.choice(["anna", "ben", "mallory"])
    return new_attempt(question, said, person_id=person, channel=dice.choice(CHANNELS))


@pytest.mark.requirement("ask:one-winner", "ask:shown-once")
@pytest.mark.parametrize("seed", [1, 2])
async def test_in_a_storm_every_question_ends_once_and_every_card_is_closed(
    processes: list[Process], seed: int
) -> None:
    dice, first = random.Random(seed), processes[0]
    asked = [(await first.store.ask(new_question(idempotency_key=f"k{one}"))).question for one in range(QUESTIONS)]
    jobs: list[Coroutine[Any, Any, Any]] = []
    for question in asked:
        places = [PlannedPresentation(person_id="anna", channel=channel, address="a") for channel in CHANNELS[:2]]
        await first.cards.plan(question.id, ["anna", "ben"], places, NOW)
        jobs += [dice.choice(processes).store.hear(tried(question, dice), at_hearing) for _ in range(ATTEMPTS)]
        jobs.append(first.store.change(question.id, partial(plan.cancelled, reason=None, now_us=NOW)))
        wording = replace(question.wording, question="Now?")
        jobs.append(first.store.change(question.id, partial(plan.revised, wording=wording, now_us=NOW)))
    showing = [one.show() for one in processes for _ in range(4)]
    closing = [one.close() for one in processes for _ in range(4)]
    dice.shuffle(jobs)

    async with asyncio.timeout(60):
        done, shown, _ = await asyncio.gather(asyncio.gather(*jobs), asyncio.gather(*showing), asyncio.gather(*closing))
        for _ in range(QUESTIONS * 2):
            await first.show()
            await first.close()

    once = [card for some in shown for card in some]
    assert len(once) == len(set(once)), "a card was shown twice"
    await every_question_ended_once(first, asked, [one for one in done if isinstance(one, Heard)])
    await every_card_is_settled(first)


async def every_question_ended_once(process: Process, asked: list[Question], heard: list[Heard]) -> None:
    events = await process.store.events(since=0, limit=1000)
    assert [event.position for event in events] == list(range(1, len(events) + 1))
    assert len(heard) == QUESTIONS * ATTEMPTS
    for question in asked:
        over = await process.store.get(question.id)
        assert over and over.status in ENDED
        ends = [
            event.type for event in events if event.question_id == question.id and event.type in EVENT_OF_END.values()
        ]
        assert ends == [EVENT_OF_END[over.status]]
        kept = await process.store.attempts(question.id)
        assert len(kept) == ATTEMPTS
        won = [one for one in kept if one.verdict.kind is VerdictKind.ACCEPTED]
        assert len(won) == (1 if over.answered_by else 0)


async def every_card_is_settled(process: Process) -> None:
    rows = await process.database.read(lambda connection: connection.execute(select(presentations)).all())
    settled = {PresentationStatus.CLOSED, PresentationStatus.LEFT}
    assert {PresentationStatus(row.status) for row in rows} <= settled
