"""What can leave at once is stored and marked in one commit, and that changes nothing about what a crash may do."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.delivery.world import Parts, World, generous, living_world
from tests.patience import PATIENCE_SECONDS

from postroom.delivery.rules.breaker import BreakerPolicy
from postroom.delivery.store.limits import MemoryBreakers, MemoryLimits
from postroom.delivery.store.sqlite import SqliteLedger
from postroom.delivery.store.tables import delivery_requests
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.kernel.values.errors import TargetUnavailable
from postroom.kernel.values.ids import seconds


async def test_what_can_leave_at_once_is_marked_as_it_is_stored(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqliteLedger, "mark_sending", None)  # there is no other mark to write
    gate = asyncio.Event()
    world.email.script.append(gate)
    caller = world.start_sending(channel="email", recipient="ann@example.com")
    await world.email.called(1)

    row = await world.row()
    assert (row["status"], row["sending"], row["fence"]) == ("in_progress", 1, 1)
    assert row["lease_until"] == world.clock.now_us() + seconds(generous().sending_lease_seconds("email"))
    gate.set()
    assert (await caller)["status"] == "ok"


@pytest.mark.policy(spacing_seconds={"telegram": 2.0}, patience_seconds=5.0)
async def test_what_has_to_wait_for_its_recipient_s_turn_is_stored_without_the_mark(world: World) -> None:
    await world.send("first")
    second = world.start_sending("second")
    await world.idle()

    [_, waiting] = await world.rows()
    assert (waiting["status"], waiting["sending"]) == ("in_progress", 0)
    await world.advance(5)
    assert (await second)["status"] == "ok"
    assert world.telegram.texts == ["first", "second"]


class FarAway:
    """Breakers or limits that take their time for every answer, as those on another host do."""

    def __init__(self, near: Any) -> None:
        self._near = near

    def __getattr__(self, name: str) -> Any:
        ask = getattr(self._near, name)

        async def answer(*given: Any, **more: Any) -> Any:
            for _ in range(5):
                await asyncio.sleep(0)
            return await ask(*given, **more)

        return answer


async def test_the_second_message_to_a_recipient_does_not_overtake_the_first_on_the_way_into_the_store(
    tmp_path: Path, clock: FakeClock
) -> None:
    """It has to wait for its recipient's turn and so for nothing else; the first one still asks for its permit."""
    policy = generous(spacing_seconds={"telegram": 1.0}, patience_seconds=5.0)
    limits, breakers = MemoryLimits(clock), MemoryBreakers(policy.breaker, clock, lambda: "token")
    parts = Parts(policy=policy, limits=FarAway(limits), breakers=FarAway(breakers))
    async with living_world(tmp_path / "p.db", clock, parts) as world:
        callers = [world.start_sending(text) for text in ("first", "second")]
        await world.idle()
        await world.advance(5)
        await asyncio.gather(*callers)

        assert world.telegram.texts == ["first", "second"]


async def test_a_permit_that_was_not_needed_is_given_back(tmp_path: Path, clock: FakeClock) -> None:
    policy = generous(breaker=BreakerPolicy(failure_threshold=1, half_open_probes=2))
    async with living_world(tmp_path / "p.db", clock, Parts(policy=policy)) as world:
        world.telegram.script.append(TargetUnavailable("503"))
        await world.send("opens the circuit", recipient="3000")
        gate = asyncio.Event()
        world.telegram.always = gate
        await world.advance(policy.breaker.recovery_seconds + 1)
        probing = len((await world.breakers.circuit("telegram")).probes)

        await world.send("behind the one that is being sent", recipient="3000")

        assert probing == len((await world.breakers.circuit("telegram")).probes) == 1
        world.telegram.always = None
        gate.set()
        await world.advance(5)


async def test_a_row_that_was_taken_over_before_its_answer_came_is_not_sent_by_us(world: World) -> None:
    taken_over = delivery_requests.update().values(fence=2, sending=False)
    written, seen = asyncio.Event(), asyncio.Event()
    world.database.lost_answers, world.database.hold_answers = 1, written

    async def somebody_else() -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await world.rows():
                await asyncio.sleep(0)
        world.database.hold_answers = None
        await SqliteDatabase.write(world.database, lambda connection: connection.execute(taken_over))
        seen.set()
        written.set()

    other = asyncio.create_task(somebody_else())
    await world.send()
    await other

    assert seen.is_set()
    assert world.telegram.calls == []
    assert (await world.row())["fence"] == 2


async def test_a_row_whose_answer_came_late_is_marked_again_before_it_is_sent(world: World) -> None:
    """Its lease may not outlast the call any more, and a process that was asleep may have lost it altogether."""
    held = world.database.hold_answers = asyncio.Event()
    caller = world.start_sending(wait_seconds=0)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await world.rows():
            await asyncio.sleep(0)
    await world.clock.advance(6)
    taken_over = delivery_requests.update().values(fence=2, sending=False)
    await SqliteDatabase.write(world.database, lambda connection: connection.execute(taken_over))
    world.database.hold_answers = None
    held.set()
    await caller
    await world.idle()

    assert world.telegram.calls == []
    assert ((await world.row())["fence"], world.tally.bugs) == (2, [])


async def test_a_marked_row_that_nobody_was_told_of_waits_again_unmarked(world: World) -> None:
    """Its caller was told that the store is away; that nothing was sent is certain all the same."""
    world.database.lost_answers = 2
    refused = await world.send()
    await world.advance(2)

    assert (refused["status"], refused["error_class"]) == ("error", "target_unavailable")
    row = await world.row()
    assert (row["status"], row["possible_duplicate"], row["calls"]) == ("delivered", 0, 1)
    assert world.telegram.texts == ["Hello"]
