"""What was settled elsewhere gives its place in flight back here."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from postroom.app.plane import settled_elsewhere
from postroom.domain.delivery import Intent
from postroom.domain.ids import DeliveryId
from postroom.work.delivery import limits
from postroom.world.store.shared.limits_memory import MemoryLimits
from postroom.world.store.tables.deliveries import delivery_requests
from tests.clock import FakeClock
from tests.patience import PATIENCE_SECONDS
from tests.work.delivery.world import Parts, generous, living_world


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
