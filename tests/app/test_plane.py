"""What was settled elsewhere gives its place in flight back here."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.app.plane import settled_elsewhere
from postroom.delivery import limits
from postroom.domain.delivery import Intent
from postroom.domain.ids import DeliveryId
from postroom.store.limits_memory import MemoryLimits
from tests.clock import FakeClock
from tests.delivery.world import Parts, generous, living_world


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
