"""The watch: expiry on time, and one question for each action."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.opened_database import opened_file
from tests.patience import PATIENCE_SECONDS
from tests.support.counted import CountedLoops
from tests.work.approvals.parked import HOUR_US, MINT, new_delivery

from postroom.approvals import ruling
from postroom.approvals.card import Deciders, Watch
from postroom.approvals.model import ActionStatus, Parking, Ruling, subject_of
from postroom.approvals.rules import ApprovalPolicy
from postroom.approvals.ruling import expiration
from postroom.approvals.store.approvals import StoredApprovals
from postroom.kernel.running.process import Seal
from postroom.kernel.values.ids import DeliveryId
from postroom.message.outgoing import ASKER
from postroom.message.wishes import Risk
from postroom.questions.model import AskedPerson, Question, QuestionStatus
from postroom.questions.store.questions import StoredQuestions

OWNER = AskedPerson(id="owner", name="Ann")
BEN = AskedPerson(id="ben", name="Ben")


@dataclass
class Desk:
    """The store with what the watch needs beside it."""

    record: StoredApprovals
    questions: StoredQuestions
    clock: FakeClock
    rung: asyncio.Event = field(default_factory=asyncio.Event)

    def watch(self, *, asks: bool = True) -> Watch:
        return Watch(
            record=self.record,
            policy=ApprovalPolicy(sweep_seconds=60),
            clock=self.clock,
            mint=MINT.mint,
            asked=self.rung.set,
            deciders=_deciders if asks else None,
        )

    async def park(self, **changes: Any) -> DeliveryId:
        new = new_delivery(**changes)
        parking = Parking(risk=Risk.MEDIUM, expires_at_us=self.clock.now_us() + HOUR_US, most_pending=100)
        await self.record.park(new, parking, lambda _: [])
        return new.id

    async def about(self, action_id: str) -> list[Question]:
        return list(await self.questions.about(subject_of(action_id)))


async def _deciders(*, owner_only: bool) -> Deciders:
    return Deciders(people=(OWNER,) if owner_only else (OWNER, BEN), channels=("telegram",))


@pytest.fixture
async def desk(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Desk]:
    async with opened_file(tmp_path) as database:
        record = StoredApprovals(database, MINT.mint, expiration)
        yield Desk(record, StoredQuestions(database, Seal(bytes(32))), clock)


async def test_each_action_is_asked_about_once_and_for_as_long_as_it_waits(desk: Desk) -> None:
    first = await desk.park()
    await desk.watch().ask()
    second = await desk.park()
    await asyncio.gather(desk.watch().ask(), desk.watch().ask())
    await desk.watch().ask()

    [one], [other] = await desk.about(first), await desk.about(second)

    assert [person.id for person in one.people] == ["owner", "ben"]
    assert (one.channels, one.status) == (("telegram",), QuestionStatus.OPEN)
    action = await desk.record.action(other.subject.id if other.subject else "")  # type: ignore[arg-type]
    assert action is not None and other.expires_at_us == action.expires_at_us
    assert desk.rung.is_set()


async def test_more_than_a_batch_is_asked_about_in_one_round(desk: Desk) -> None:
    ids = [await desk.park() for _ in range(45)]

    await desk.watch().ask()

    assert [len(await desk.about(one)) for one in ids] == [1] * 45


async def test_what_was_decided_before_it_was_asked_about_is_not_asked_about(desk: Desk) -> None:
    action_id = await desk.park()
    [waiting] = await desk.record.unasked(10)

    def judge(action: Any) -> Ruling:
        return ruling.rejection(action, actor="person:owner", now_us=desk.clock.now_us(), reason="no")

    await desk.record.decide(action_id, judge)
    await desk.watch()._ask(waiting, _deciders)

    assert await desk.about(action_id) == []


async def test_about_a_card_that_waits_itself_only_the_owner_is_asked(desk: Desk) -> None:
    action_id = await desk.park(origin_butler=ASKER)

    await desk.watch().ask()

    [question] = await desk.about(action_id)
    assert [person.id for person in question.people] == ["owner"]


async def test_without_cards_nobody_is_asked(desk: Desk) -> None:
    action_id = await desk.park()

    await desk.watch(asks=False).look()

    assert await desk.about(action_id) == []


@pytest.mark.requirement("ask:approval-elsewhere")
async def test_the_watch_ends_what_is_overdue_with_its_question_and_stops_when_told(desk: Desk) -> None:
    clock, record, watch = desk.clock, desk.record, desk.watch()
    ids = [await desk.park(), await desk.park()]
    async with CountedLoops(clock).running("approvals", watch.look, wake=watch.signal):
        await clock.parked()
        while (action := await record.action(ids[-1])) and action.status is ActionStatus.PENDING:
            await clock.advance(1800)
            await clock.parked()

    assert action is not None and action.status is ActionStatus.EXPIRED
    ended = [question.status for one in ids for question in await desk.about(one)]
    assert ended == [QuestionStatus.EXPIRED] * 2


async def test_the_bell_makes_it_ask_at_once(desk: Desk) -> None:
    watch = desk.watch()
    async with CountedLoops(desk.clock).running("approvals", watch.look, wake=watch.signal):
        await desk.clock.parked()
        action_id = await desk.park()

        watch.signal.ring()
        await asyncio.wait_for(desk.rung.wait(), PATIENCE_SECONDS)

    assert len(await desk.about(action_id)) == 1
