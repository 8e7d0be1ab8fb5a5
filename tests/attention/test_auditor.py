"""The gauge counts what breaks a law, and who stays due."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import delete, update
from tests.attention.attended import Attended
from tests.clock import FakeClock
from tests.work.delivery.world import Parts, World, generous, living_world

from postroom.attention.attention import COUNT_SECONDS, LOOK_SECONDS, Auditor
from postroom.attention.state import Standing, decoded, encoded
from postroom.attention.store import attention_people, notices

NIGHT = {"zone": "UTC", "quiet_hours": [{"from": "22:00", "until": "00:10"}]}
pytestmark = pytest.mark.requirement("attention:accounted")


@pytest.fixture
async def world(tmp_path: Path, clock: FakeClock) -> AsyncIterator[World]:
    async with living_world(tmp_path / "postroom.db", clock, Parts(policy=generous())) as world:
        yield world


class Gauge:
    def __init__(self) -> None:
        self.counts: list[int] = []

    def unaccounted(self, count: int) -> None:
        self.counts.append(count)


async def test_it_looks_once_a_minute_and_costs_nothing_where_there_are_no_notices(world: World) -> None:
    house, gauge = Attended(world), Gauge()
    auditor = Auditor(attention=house.attention, queue=house.keeper.queue, meter=gauge)
    finished = world.database.finished
    assert await auditor.look() == world.clock.now_us() + LOOK_SECONDS * 1_000_000
    assert (gauge.counts, world.database.finished) == ([0], finished)


async def test_what_is_lost_or_waits_for_nothing_is_counted(world: World) -> None:
    house, gauge = Attended(world, NIGHT), Gauge()
    auditor = Auditor(attention=house.attention, queue=house.keeper.queue, meter=gauge)
    await house.notify("Hello")
    await auditor.look()
    (row,) = await world.rows(notices)
    idle = encoded(replace(decoded(Standing, row["standing"]), until_us=None, reasons=()))
    await world.database.write(lambda connection: connection.execute(update(notices).values(standing=idle)))
    await auditor.look()
    await world.database.write(lambda connection: connection.execute(delete(notices)))
    world.clock.jump(COUNT_SECONDS)
    await auditor.look()
    assert gauge.counts[0] == 0 and gauge.counts[1] > 0 and gauge.counts[2] > 0


async def test_all_that_is_kept_is_counted_once_an_hour_and_what_was_missing_stays_counted(world: World) -> None:
    house, gauge = Attended(world, NIGHT), Gauge()
    auditor = Auditor(attention=house.attention, queue=house.keeper.queue, meter=gauge)
    await house.notify("Hello")
    world.clock.jump(3600)
    await house.look()
    await auditor.look()
    await world.database.write(lambda connection: connection.execute(delete(notices)))
    world.clock.jump(LOOK_SECONDS)
    await auditor.look()
    world.clock.jump(COUNT_SECONDS)
    await auditor.look()
    world.clock.jump(LOOK_SECONDS)
    await auditor.look()
    assert gauge.counts == [0, 0, 1, 1]


async def test_who_is_still_due_at_the_next_look_is_counted_and_a_machine_that_slept_is_not(world: World) -> None:
    house, gauge = Attended(world, NIGHT), Gauge()
    auditor = Auditor(attention=house.attention, queue=house.keeper.queue, meter=gauge)
    await house.notify("Hello")
    world.clock.jump(3600)
    await auditor.look()  # it has just woken
    world.clock.jump(LOOK_SECONDS)
    await auditor.look()
    await house.look()
    await auditor.look()
    assert gauge.counts == [0, 1, 0]
    assert [row["next_at"] for row in await world.rows(attention_people)] == [None]
