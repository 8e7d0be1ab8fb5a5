"""The fake clock keeps the promises of the Clock port, or every test built on it is worth nothing."""

from __future__ import annotations

import asyncio

import pytest

from postroom.domain.clock import Clock
from postroom.domain.time import seconds
from tests.clock import START_US, FakeClock
from tests.patience import PATIENCE_SECONDS


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_it_satisfies_the_port_and_stands_still() -> None:
    clock: Clock = FakeClock()

    assert clock.now_us() == START_US
    assert clock.now_us() == START_US


async def test_advancing_moves_the_time_by_exactly_that_much(clock: FakeClock) -> None:
    await clock.advance(1.5)
    await clock.advance(0)

    assert clock.now_us() == START_US + 1_500_000


@pytest.mark.parametrize("until_us", [None, START_US - 1, START_US + 1], ids=["forever", "past", "future"])
async def test_an_event_that_is_set_already_ends_the_wait_at_once(clock: FakeClock, until_us: int | None) -> None:
    event = asyncio.Event()
    event.set()

    assert await clock.wait(event, until_us) is True
    assert event.is_set()


@pytest.mark.parametrize("until_us", [START_US, START_US - 1], ids=["now", "past"])
async def test_a_time_that_has_come_already_ends_the_wait_at_once(clock: FakeClock, until_us: int) -> None:
    assert await clock.wait(asyncio.Event(), until_us) is False


async def test_a_wait_ends_when_its_time_has_come_and_not_before(clock: FakeClock) -> None:
    waiter = asyncio.create_task(clock.wait(asyncio.Event(), START_US + seconds(10)))

    await clock.advance(9.999999)
    assert not waiter.done()

    await clock.advance(0.000001)
    assert waiter.done()
    assert await waiter is False


async def test_an_event_ends_a_wait_before_its_time(clock: FakeClock) -> None:
    event = asyncio.Event()
    waiter = asyncio.create_task(clock.wait(event, START_US + seconds(10)))
    await clock.parked()

    event.set()

    assert await asyncio.wait_for(waiter, PATIENCE_SECONDS) is True
    assert clock.now_us() == START_US
    assert clock.waiting == 0


async def test_a_wait_without_a_time_outlasts_any_advance(clock: FakeClock) -> None:
    event = asyncio.Event()
    waiter = asyncio.create_task(clock.wait(event, None))

    await clock.advance(365 * 86_400)
    assert not waiter.done()

    event.set()
    assert await asyncio.wait_for(waiter, PATIENCE_SECONDS) is True


async def test_a_cancelled_wait_leaves_nothing_behind(clock: FakeClock) -> None:
    waiter = asyncio.create_task(clock.wait(asyncio.Event(), START_US + 1))
    await clock.parked()

    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter

    assert clock.waiting == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_one_advance_shows_two_loops_each_of_their_moments_in_order(clock: FakeClock) -> None:
    seen: list[tuple[str, int]] = []

    async def tick(name: str, every_seconds: float) -> None:
        while True:
            await clock.wait(asyncio.Event(), clock.now_us() + seconds(every_seconds))
            seen.append((name, (clock.now_us() - START_US) // 1_000_000))

    loops = [asyncio.create_task(tick("two", 2)), asyncio.create_task(tick("three", 3))]
    await clock.advance(7)
    for loop in loops:
        loop.cancel()

    assert seen == [("two", 2), ("three", 3), ("two", 4), ("three", 6), ("two", 6)]


async def test_parked_returns_only_when_enough_waits_have_begun(clock: FakeClock) -> None:
    watcher = asyncio.create_task(clock.parked(2))
    waits = [asyncio.create_task(clock.wait(asyncio.Event(), START_US + 1)) for _ in range(2)]

    await asyncio.wait_for(watcher, PATIENCE_SECONDS)
    assert clock.waiting == 2

    await clock.advance(1)
    assert await asyncio.gather(*waits) == [False, False]


async def test_an_alarm_rings_when_the_hands_reach_it_and_not_before(clock: FakeClock) -> None:
    rung: list[int] = []
    clock.ring(START_US + seconds(2), lambda: rung.append(clock.now_us()))

    await clock.advance(1)
    assert rung == []
    await clock.advance(5)

    assert rung == [START_US + seconds(2)]


async def test_an_alarm_for_a_moment_that_has_passed_rings_at_once(clock: FakeClock) -> None:
    rung: list[str] = []
    clock.ring(START_US - 1, lambda: rung.append("late"))

    await clock.advance(0)

    assert rung == ["late"]


async def test_a_cancelled_alarm_is_silent_and_forgotten(clock: FakeClock) -> None:
    rung: list[str] = []
    clock.ring(START_US + seconds(2), lambda: rung.append("never")).cancel()

    await clock.advance(5)

    assert rung == []
    assert clock.waiting == 0
