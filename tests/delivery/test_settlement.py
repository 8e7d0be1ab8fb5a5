"""Callers are woken by the settling, and the end of an attempt is what the ledger keeps."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.delivery.world import World
from tests.patience import PATIENCE_SECONDS
from tests.support.counted import CountedLoops
from tests.support.sample_deliveries import LEASE, NOON_US, ending, new_delivery

from postroom.delivery.dispatcher import Outcomes
from postroom.delivery.rules.retry import RetryPolicy, conclude
from postroom.delivery.store.postgres import PostgresLedger
from postroom.kernel.database.engine import QuestionNotices
from postroom.kernel.database.postgres import PostgresDatabase, listening
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import (
    DeliveryEvent,
    OnUncertain,
    Status,
)

pytestmark = pytest.mark.policy(sweep_seconds=10**6)


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


CLAIM = replace(new_delivery().claimed(sending=True), attempts=1, calls=4)


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
