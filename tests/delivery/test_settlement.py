"""Callers are woken by the settling, and the end of an attempt is what the ledger keeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.delivery.world import Parts, World, generous, living_world
from tests.patience import PATIENCE_SECONDS
from tests.support.counted import CountedLoops
from tests.support.sample_deliveries import LEASE, NOON_US, ending, new_delivery

from postroom.delivery.dispatcher import Outcomes
from postroom.delivery.rules.retry import RetryPolicy, conclude, delivered, failed, outcome_of, put_back
from postroom.delivery.store.postgres import PostgresLedger
from postroom.kernel.database.engine import QuestionNotices
from postroom.kernel.database.postgres import PostgresDatabase, listening
from postroom.kernel.values.errors import OutcomeUncertain, PostroomError, TargetUnavailable, ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import (
    AttemptResult,
    AttemptVerdict,
    DeliveryEvent,
    OnUncertain,
    QuarantineReason,
    Receipt,
    Status,
)


@pytest.fixture
async def world(tmp_path: Path, clock: FakeClock) -> AsyncIterator[World]:
    async with living_world(tmp_path / "postroom.db", clock, Parts(policy=generous(sweep_seconds=10**6))) as world:
        yield world


async def test_a_caller_is_woken_by_the_settling(world: World) -> None:
    gate = asyncio.Event()
    world.telegram.script.append(gate)
    caller = world.start_sending(wait_seconds=20)
    await world.telegram.called(1)
    await world.idle()
    assert not caller.done()

    gate.set()

    answer = await asyncio.wait_for(caller, PATIENCE_SECONDS)
    assert (answer["status"], answer["delivery"]["provider_delivery_id"]) == ("ok", "1")


async def test_when_the_wait_runs_out_the_caller_is_told_that_it_is_accepted(world: World) -> None:
    gate = asyncio.Event()
    world.telegram.script.append(gate)
    caller = world.start_sending(wait_seconds=20)
    await world.telegram.called(1)
    await world.advance(20)

    answer = await asyncio.wait_for(caller, PATIENCE_SECONDS)

    assert (answer["status"], answer["delivery"]["status"]) == ("accepted", "in_progress")
    gate.set()
    await world.idle()
    assert (await world.row())["status"] == "delivered"


async def test_a_wait_of_nothing_answers_at_once(world: World) -> None:
    gate = asyncio.Event()
    world.telegram.script.append(gate)

    assert (await world.send(wait_seconds=0))["status"] == "accepted"
    gate.set()


async def test_a_store_that_is_away_at_the_end_of_the_wait_does_not_take_the_answer_away(world: World) -> None:
    gate = asyncio.Event()
    world.telegram.script.append(gate)
    caller = world.start_sending(wait_seconds=20)
    await world.telegram.called(1)
    world.database.away = True
    await world.advance(20)

    answer = await asyncio.wait_for(caller, PATIENCE_SECONDS)

    assert answer["status"] == "accepted"
    world.database.away = False
    gate.set()


async def test_ten_thousand_who_wait_cost_nothing_while_they_wait(world: World) -> None:
    gate = asyncio.Event()
    world.telegram.script.append(gate)
    delivery_id = DeliveryId((await world.send(wait_seconds=0))["delivery"]["delivery_id"])
    waiting = [asyncio.create_task(world.plane.outcomes.wait(delivery_id, 600)) for _ in range(10_000)]
    await world.clock.parked(10_000)
    await world.idle()
    looked_up = world.database.finished

    with counted_callbacks() as callbacks:
        await world.clock.advance(500)
        await world.idle()

    assert callbacks() < 1_000  # the test's own turns of the loop; one poll each would be 10,000
    assert world.database.finished == looked_up
    gate.set()
    found = await asyncio.wait_for(asyncio.gather(*waiting), 60)
    assert {one.status for one in found if one} == {Status.DELIVERED}
    assert None not in found


@contextmanager
def counted_callbacks() -> Any:
    """How often the event loop was given something to do."""
    loop = asyncio.get_running_loop()
    count, soon = 0, loop.call_soon

    def call_soon(*arguments: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        return soon(*arguments, **options)

    loop.call_soon = call_soon  # type: ignore[method-assign]
    try:
        yield lambda: count
    finally:
        loop.call_soon = soon  # type: ignore[method-assign]


async def test_stopping_lets_everybody_go_with_what_is_known(world: World) -> None:
    gate = asyncio.Event()
    world.telegram.script.append(gate)
    caller = world.start_sending(wait_seconds=600)
    await world.telegram.called(1)
    await world.idle()

    world.plane.outcomes.let_go()

    assert (await asyncio.wait_for(caller, PATIENCE_SECONDS))["status"] == "accepted"
    gate.set()


async def test_what_ended_before_we_listened_is_found(world: World) -> None:
    answer = await world.send()
    outcomes = Outcomes(world.pipeline.ledger, world.clock)

    found = await outcomes.wait(DeliveryId(answer["delivery"]["delivery_id"]), 20, look_first=True)

    assert found is not None
    assert found.status is Status.DELIVERED


async def test_a_waiter_in_one_process_is_woken_by_a_settling_in_another(postgres_url: str, clock: FakeClock) -> None:
    here, there = PostgresDatabase(postgres_url), PostgresDatabase(postgres_url)
    await here.migrate()
    ledger = PostgresLedger(there)
    outcomes = Outcomes(PostgresLedger(here), clock)
    heard: asyncio.Queue[None] = asyncio.Queue()

    async def settled(ids: list[DeliveryId] | None) -> None:
        await outcomes.refresh(ids)
        heard.put_nowait(None)

    try:
        async with listening(here, QuestionNotices(), lambda: None, settled, CountedLoops()):
            await asyncio.wait_for(heard.get(), PATIENCE_SECONDS)
            claim = (await ledger.insert(new_delivery(address="written by nobody else"), LEASE)).claim
            assert claim is not None
            waiting = asyncio.create_task(outcomes.wait(claim.id, 600, look_first=True))
            await clock.parked()

            await ledger.settle(ending(claim, DeliveryEvent.DELIVER))

            found = await asyncio.wait_for(waiting, PATIENCE_SECONDS)
            assert found is not None
            assert (found.status, found.provider_delivery_id) == (Status.DELIVERED, "77")
    finally:
        await here.close()
        await there.close()


async def test_a_failure_is_told_with_its_class(world: World) -> None:
    world.telegram.script.append(ValidationError("chat not found"))

    answer = await world.send(wait_seconds=20)

    assert (answer["status"], answer["error_class"], answer["retryable"]) == ("error", "validation_error", False)
    assert answer["error"]["message"] == "chat not found"


CLAIM = replace(new_delivery().claimed(sending=True), attempts=1, calls=4)
UNCERTAIN = OutcomeUncertain("no answer")


def test_a_success_keeps_an_earlier_doubt() -> None:
    done = delivered(replace(CLAIM, possible_duplicate=True), Receipt("7"), started_us=NOON_US, now_us=NOON_US + 5)

    assert (done.status, done.attempts, done.possible_duplicate, done.receipt) == (
        Status.DELIVERED,
        2,
        True,
        Receipt("7"),
    )
    assert done.snapshot().provider_delivery_id == "7"


@pytest.mark.parametrize(
    ("error", "event", "status", "attempts", "duplicate", "reason"),
    [
        (TargetUnavailable("x"), DeliveryEvent.RETRY, Status.PENDING, 2, False, None),
        (TargetUnavailable("x"), DeliveryEvent.POSTPONE, Status.PENDING, 1, False, None),
        (
            TargetUnavailable("x"),
            DeliveryEvent.EXHAUST,
            Status.DEAD_LETTERED,
            2,
            False,
            QuarantineReason.RETRIES_EXHAUSTED,
        ),
        (ValidationError("x"), DeliveryEvent.REJECT, Status.FAILED, 2, False, None),
        (UNCERTAIN, DeliveryEvent.RETRY, Status.PENDING, 2, True, None),
        (UNCERTAIN, DeliveryEvent.HOLD, Status.DEAD_LETTERED, 2, False, QuarantineReason.OUTCOME_UNCERTAIN),
        (UNCERTAIN, DeliveryEvent.EXHAUST, Status.DEAD_LETTERED, 2, False, QuarantineReason.OUTCOME_UNCERTAIN),
    ],
    ids=str,
)
def test_a_failure_is_written_as_its_verdict_says(
    error: PostroomError,
    event: DeliveryEvent,
    status: Status,
    attempts: int,
    duplicate: bool,
    reason: QuarantineReason | None,
) -> None:
    done = failed(CLAIM, error, AttemptVerdict(event, 2.5), started_us=NOON_US, now_us=NOON_US, dead_letter_id="dl")

    assert (done.status, done.attempts, done.possible_duplicate) == (status, attempts, duplicate)
    assert (done.quarantine.reason if done.quarantine else None) is reason
    assert done.not_before_us == NOON_US + 2_500_000
    assert (done.waiting is not None) is (status is Status.PENDING)


def test_a_move_that_is_not_in_the_table_is_a_bug() -> None:
    with pytest.raises(KeyError):
        put_back(CLAIM, DeliveryEvent.APPROVE, now_us=NOON_US, waiting=None)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (UNCERTAIN, AttemptResult.UNCERTAIN),
        (TargetUnavailable("x"), AttemptResult.RETRYABLE_ERROR),
        (ValidationError("x"), AttemptResult.NON_RETRYABLE_ERROR),
    ],
)
def test_an_attempt_s_outcome(error: PostroomError, outcome: AttemptResult) -> None:
    assert outcome_of(error) is outcome


@pytest.mark.parametrize(
    ("sending", "on_uncertain", "attempts", "status", "used"),
    [
        (False, OnUncertain.HOLD, 2, Status.PENDING, 2),  # nothing had left: free of charge
        (True, OnUncertain.RESEND, 0, Status.PENDING, 1),
        (True, OnUncertain.RESEND, 2, Status.DEAD_LETTERED, 3),
        (True, OnUncertain.HOLD, 0, Status.DEAD_LETTERED, 1),
    ],
)
def test_a_lost_worker_s_delivery(
    sending: bool, on_uncertain: OnUncertain, attempts: int, status: Status, used: int
) -> None:
    claim = replace(CLAIM, sending=sending, on_uncertain=on_uncertain, attempts=attempts)

    done = conclude(claim, RetryPolicy(), now_us=NOON_US, dice=0.5, dead_letter_id="dl")

    assert (done.status, done.attempts) == (status, used)
    assert done.possible_duplicate is (sending and status is Status.PENDING)
    assert (done.attempt is not None) is sending
