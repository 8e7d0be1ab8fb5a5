"""What is told of a message from outside its household is what the household goes by."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.household.living import living
from tests.clock import FakeClock
from tests.patience import PATIENCE_SECONDS
from tests.work.delivery.world import Parts, generous, living_world

from postroom.delivery.rules import limits
from postroom.delivery.store.limits import MemoryLimits
from postroom.delivery.store.tables import delivery_requests
from postroom.household.wiring.delivery import ledger_view, settled_elsewhere
from postroom.inbox.rules import Request
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Intent

PATIENT = {"retry": {"base_seconds": 600, "jitter": 0, "max_attempts": 3, "attempts_by_priority": {"high": 7}}}


async def test_attempts_are_counted_against_those_of_the_messages_own_priority(home: Path) -> None:
    async with living(home, PATIENT) as household:
        await household.fault(channel="telegram", times=1, status=503)
        answer = await household.notify(priority="high", wait_seconds=1)

        async with ledger_view(household.settings) as view:
            (told,) = await view.why(answer["delivery"]["delivery_id"])

    assert "Attempt 1 of 7" in told.why


async def test_a_note_is_explained_by_its_own_id(home: Path) -> None:
    async with living(home) as household:
        assert household.household.inbox is not None
        note = await household.household.inbox.notifications.send(Request(message="Tea is ready", user_id="ada"))

        async with ledger_view(household.settings) as view:
            (told,) = await view.why(note["notification_id"])

    assert told.id == note["notification_id"]
    assert told.why.startswith("It is a note in the inbox of ada, stored ")
    assert told.why.endswith("It has no e-mail copy: the person wants no e-mail.")
    assert "Tea" not in told.why


@pytest.mark.parametrize("named", [True, False], ids=["a notice names it", "notices were missed"])
async def test_a_place_in_flight_is_free_again(tmp_path: Path, clock: FakeClock, named: bool) -> None:
    own = MemoryLimits(clock)
    async with living_world(tmp_path / "p.db", clock, Parts(policy=generous(), limits=own)) as world:
        over = DeliveryId((await world.send())["delivery"]["delivery_id"])
        for lease_id in (over, "still under way"):
            await own.admit(
                limits.admission(
                    world.plane.acceptance.policy.limits,
                    lease_id=lease_id,
                    channel="telegram",
                    intent=Intent.SEND,
                    address="1000",
                )
            )

        await settled_elsewhere(world.plane, world.database, own)([over] if named else None)

        assert own.held == ["still under way"]


async def test_a_notice_of_what_is_in_our_own_hands_asks_the_store_nothing(tmp_path: Path, clock: FakeClock) -> None:
    """It comes with the answer to our own settling, and would cost a look for every delivery."""
    async with living_world(tmp_path / "p.db", clock, Parts(policy=generous())) as world:
        gate = asyncio.Event()
        world.telegram.script.append(gate)
        caller = world.start_sending()
        await world.telegram.called(1)
        ours = DeliveryId((await world.row())["id"])
        asked = world.database.finished

        await settled_elsewhere(world.plane, world.database, world.limits)([ours])

        assert world.database.finished == asked
        gate.set()
        assert (await caller)["status"] == "ok"


async def test_whoever_waits_for_a_delivery_that_was_taken_over_hears_how_it_ended(
    tmp_path: Path, clock: FakeClock
) -> None:
    """The notice came while we still believed that it was ours."""
    async with living_world(tmp_path / "p.db", clock, Parts(policy=generous())) as world:
        gate = asyncio.Event()
        world.telegram.script.append(gate)
        caller = world.start_sending(wait_seconds=600)
        await world.telegram.called(1)
        taken = delivery_requests.update().values(fence=2, status="delivered", sending=False, provider_delivery_id="9")
        await world.database.write(lambda connection: connection.execute(taken))
        await settled_elsewhere(world.plane, world.database, world.limits)([DeliveryId((await world.row())["id"])])
        gate.set()
        await world.idle()

        answer = await asyncio.wait_for(caller, PATIENCE_SECONDS)
        assert (answer["status"], answer["delivery"]["provider_delivery_id"]) == ("ok", "9")


async def test_the_place_in_flight_of_a_delivery_that_was_taken_over_is_free_again(
    tmp_path: Path, clock: FakeClock
) -> None:
    """Whoever settled it has places of its own; that ours is free, only the notice tells."""
    async with living_world(tmp_path / "p.db", clock, Parts(policy=generous())) as world:
        gate = asyncio.Event()
        world.telegram.script.append(gate)
        world.start_sending(wait_seconds=0)
        await world.telegram.called(1)
        ours = DeliveryId((await world.row())["id"])
        assert world.limits.held == [ours]
        taken = delivery_requests.update().values(fence=2, status="delivered", sending=False, provider_delivery_id="9")
        await world.database.write(lambda connection: connection.execute(taken))
        await settled_elsewhere(world.plane, world.database, world.limits)([ours])
        gate.set()
        await world.idle()

        assert world.limits.held == []
