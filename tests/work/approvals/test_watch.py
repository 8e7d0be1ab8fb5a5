"""The watch: expiry on time, and one word to the owner for each action."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.opened_database import opened_file
from tests.system.counted import CountedLoops
from tests.work.approvals.parked import HOUR_US, MINT, new_delivery, pending_action

from postroom.domain.approval import ActionStatus, Parking, Risk
from postroom.domain.ids import DeliveryId
from postroom.domain.notify import notify_document, parse_notify
from postroom.domain.notify_response import read_response
from postroom.domain.outcome import Outcome
from postroom.domain.outgoing import Outgoing
from postroom.work.approvals.policy import ApprovalPolicy
from postroom.work.approvals.ruling import expiration
from postroom.work.approvals.watch import APPROVALS_ORIGIN, Watch, approval_request
from postroom.world.store.approvals.approvals import StoredApprovals

CHANNELS = frozenset({"telegram", "email"})


@dataclass
class Told:
    """Stands where the delivery plane stands, and answers what it is told to."""

    answers: list[dict[str, Any]] = field(default_factory=list)
    envelopes: list[Mapping[str, Any]] = field(default_factory=list)
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    async def submit(self, outgoing: Outgoing) -> Outcome:
        self.envelopes.append(notify_document(outgoing))
        self.heard.set()
        return read_response(self.answers.pop(0) if self.answers else {"status": "accepted"})


@pytest.fixture
async def record(tmp_path: Path) -> AsyncIterator[StoredApprovals]:
    async with opened_file(tmp_path) as database:
        yield StoredApprovals(database, MINT.mint, expiration)


async def park(record: StoredApprovals, clock: FakeClock, **changes: Any) -> DeliveryId:
    new = new_delivery(**changes)
    parking = Parking(risk=Risk.MEDIUM, expires_at_us=clock.now_us() + HOUR_US, most_pending=100)
    await record.park(new, parking, lambda _: [])
    return new.id


def watch_of(record: StoredApprovals, clock: FakeClock, told: Told, channel: str | None = "telegram") -> Watch:
    policy = ApprovalPolicy(sweep_seconds=60)

    async def asked_on() -> str | None:
        return channel

    return Watch(record=record, policy=policy, clock=clock, submit=told.submit, ask_channel=asked_on)


def test_the_owner_is_told_who_wants_what_and_not_the_message() -> None:
    action = pending_action()
    action = replace(action, content=replace(action.content, message="secret words", address="p\u0430ypal"))

    sent = parse_notify(notify_document(approval_request(action, "email")), CHANNELS)

    assert (sent.origin_butler, sent.recipient, sent.subject) == (APPROVALS_ORIGIN, None, "Approval needed")
    assert "secret words" not in sent.message
    assert "general wants to send on telegram to p\u0430⟦U+0430 CYRILLIC SMALL LETTER A⟧ypal" in sent.message
    assert action.id in sent.message


async def test_each_action_is_told_once(record: StoredApprovals, clock: FakeClock) -> None:
    told = Told()
    watch = watch_of(record, clock, told)
    first = await park(record, clock)

    await watch.ask()
    second = await park(record, clock)
    await watch.ask()
    await watch.ask()

    assert [one["idempotency_key"] for one in told.envelopes] == [f"approval:{first}", f"approval:{second}"]


async def test_what_could_not_be_told_now_is_told_later(record: StoredApprovals, clock: FakeClock) -> None:
    told = Told(answers=[{"status": "error", "retryable": True}])
    watch = watch_of(record, clock, told)
    await park(record, clock)

    await watch.ask()
    await watch.ask()
    await watch.ask()

    assert len(told.envelopes) == 2


async def test_what_can_never_be_told_is_not_tried_for_ever(record: StoredApprovals, clock: FakeClock) -> None:
    told = Told(answers=[{"status": "error", "retryable": False}])
    watch = watch_of(record, clock, told)
    await park(record, clock)

    await watch.ask()
    await watch.ask()

    assert len(told.envelopes) == 1


async def test_nobody_is_asked_about_asking(record: StoredApprovals, clock: FakeClock) -> None:
    told = Told()
    await park(record, clock, origin_butler=APPROVALS_ORIGIN)

    await watch_of(record, clock, told).ask()

    assert told.envelopes == []


async def test_without_a_channel_nobody_is_told(record: StoredApprovals, clock: FakeClock) -> None:
    told = Told()
    await park(record, clock)

    await watch_of(record, clock, told, channel=None).ask()

    assert told.envelopes == []


async def test_the_watch_ends_what_is_overdue_and_stops_when_told(record: StoredApprovals, clock: FakeClock) -> None:
    action_id = await park(record, clock)
    watch = watch_of(record, clock, Told())
    async with CountedLoops(clock).running("approvals", watch.look, wake=watch.signal):
        await clock.parked()
        while (action := await record.action(action_id)) and action.status is ActionStatus.PENDING:
            await clock.advance(1800)
            await clock.parked()

    assert action is not None and action.status is ActionStatus.EXPIRED


async def test_the_bell_makes_it_tell_at_once(record: StoredApprovals, clock: FakeClock) -> None:
    told = Told()
    watch = watch_of(record, clock, told)
    async with CountedLoops(clock).running("approvals", watch.look, wake=watch.signal):
        await clock.parked()
        await park(record, clock)

        watch.signal.ring()
        await asyncio.wait_for(told.heard.wait(), 10)

    assert len(told.envelopes) == 1
