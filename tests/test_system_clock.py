"""The real clock: an event ends a wait at once, a moment that has passed needs none."""

from __future__ import annotations

import asyncio

from postroom.clock import SystemClock


async def test_a_moment_that_has_passed_is_not_waited_for() -> None:
    clock, event = SystemClock(), asyncio.Event()
    async with asyncio.timeout(10):
        assert not await clock.wait(event, clock.now_us() - 10**9)
        event.set()
        assert await clock.wait(event, clock.now_us() - 10**9)


async def test_an_event_ends_the_wait() -> None:
    clock, event = SystemClock(), asyncio.Event()
    waits = [asyncio.create_task(clock.wait(event, until)) for until in (None, clock.now_us() + 10**12)]
    await asyncio.sleep(0)
    event.set()

    async with asyncio.timeout(10):
        assert await asyncio.gather(*waits) == [True, True]


async def test_a_wait_without_the_event_ends_by_itself_and_leaves_the_event_alone() -> None:
    clock, event = SystemClock(), asyncio.Event()

    assert not await clock.wait(event, clock.now_us() + 1000)
    assert not event.is_set()


async def test_being_cancelled_is_not_mistaken_for_the_time_being_over() -> None:
    clock = SystemClock()
    waiting = asyncio.create_task(clock.wait(asyncio.Event(), clock.now_us() + 10**12))
    await asyncio.sleep(0)
    waiting.cancel()

    [result] = await asyncio.gather(waiting, return_exceptions=True)
    assert isinstance(result, asyncio.CancelledError)


async def test_an_alarm_rings_once_its_time_has_come() -> None:
    clock, rung = SystemClock(), asyncio.Event()

    clock.ring(clock.now_us() + 1000, rung.set)

    async with asyncio.timeout(10):
        await rung.wait()


async def test_a_cancelled_alarm_is_silent() -> None:
    clock, first, second = SystemClock(), asyncio.Event(), asyncio.Event()

    clock.ring(clock.now_us() - 1, first.set).cancel()
    clock.ring(clock.now_us() - 1, second.set)

    async with asyncio.timeout(10):
        await second.wait()
    assert not first.is_set()
