"""The real clock: an event ends a wait at once, a moment that has passed needs none, and alarms ring in time."""

from __future__ import annotations

import asyncio

import pytest
from tests.clock import START_US
from tests.patience import PATIENCE_SECONDS

from postroom.kernel.running import clock as clocks
from postroom.kernel.running.clock import SharedClock, SystemClock
from postroom.kernel.values.ids import seconds


async def test_a_moment_that_has_passed_is_not_waited_for() -> None:
    clock, event = SystemClock(), asyncio.Event()
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert not await clock.wait(event, clock.now_us() - 10**9)
        event.set()
        assert await clock.wait(event, clock.now_us() - 10**9)


async def test_an_event_ends_the_wait() -> None:
    clock, event = SystemClock(), asyncio.Event()
    waits = [asyncio.create_task(clock.wait(event, until)) for until in (None, clock.now_us() + 10**12)]
    await asyncio.sleep(0)
    event.set()

    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await asyncio.gather(*waits) == [True, True]


async def test_being_cancelled_is_not_mistaken_for_the_time_being_over() -> None:
    clock = SystemClock()
    waiting = asyncio.create_task(clock.wait(asyncio.Event(), clock.now_us() + 10**12))
    await asyncio.sleep(0)
    waiting.cancel()

    [result] = await asyncio.gather(waiting, return_exceptions=True)
    assert isinstance(result, asyncio.CancelledError)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> SystemClock:
    monkeypatch.setattr(clocks, "_NEAR_SECONDS", 0.01)
    monkeypatch.setattr(clocks, "_LOOK_SECONDS", 0.001)
    return SystemClock()


@pytest.mark.parametrize("after_seconds", [-1, 0, 0.001, 0.02, 0.05], ids=["past", "now", "near", "far", "farther"])
async def test_an_alarm_rings_not_before_its_time(quick: SystemClock, after_seconds: float) -> None:
    rung: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    at = quick.now_us() + seconds(after_seconds)
    quick.ring(at, lambda: rung.set_result(quick.now_us()))

    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await rung >= at - 1000  # the loop's clock and the wall's may differ by a little


async def test_a_cancelled_alarm_is_silent_and_the_others_ring_in_turn(quick: SystemClock) -> None:
    rung: list[str] = []
    done = asyncio.Event()
    now = quick.now_us()
    quick.ring(now + seconds(0.03), lambda: rung.append("second"))
    silent = quick.ring(now + seconds(0.02), lambda: rung.append("never"))
    quick.ring(now + seconds(0.02), lambda: rung.append("first"))
    quick.ring(now + seconds(0.06), done.set)
    silent.cancel()
    silent.cancel()

    async with asyncio.timeout(PATIENCE_SECONDS):
        await done.wait()
    assert rung == ["first", "second"]


async def test_a_bell_may_set_another_alarm(quick: SystemClock) -> None:
    done = asyncio.Event()
    quick.ring(quick.now_us() + seconds(0.02), lambda: quick.ring(quick.now_us() + seconds(0.02), done.set) and None)

    async with asyncio.timeout(PATIENCE_SECONDS):
        await done.wait()


async def test_those_that_are_due_at_once_ring_in_the_order_of_their_times_and_none_silences_the_next(
    quick: SystemClock,
) -> None:
    rung: list[str] = []
    done, complaints = asyncio.Event(), list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _, about: complaints.append(about["exception"]))
    now = quick.now_us()
    quick.ring(now + seconds(0.04), done.set)
    quick.ring(now + seconds(0.03), lambda: rung.append("last"))
    quick.ring(now + seconds(0.02), lambda: rung.append("second"))
    quick.ring(now + seconds(0.015), lambda: rung.remove("what is not there"))
    while quick.now_us() < now + seconds(0.05):
        pass  # as long as the loop is busy with something else, all of them become due

    async with asyncio.timeout(PATIENCE_SECONDS):
        await done.wait()
    assert rung == ["second", "last"]
    assert [type(one) for one in complaints] == [ValueError]


def test_a_clock_outlives_its_loop(quick: SystemClock) -> None:
    async def leave() -> None:
        quick.ring(quick.now_us() + seconds(600), lambda: None)

    async def wait() -> None:
        done = asyncio.Event()
        quick.ring(quick.now_us() + seconds(0.02), done.set)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await done.wait()

    asyncio.run(leave())
    asyncio.run(wait())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SharedClock:
    """The machine's own stands still."""
    monkeypatch.setattr(SystemClock, "now_us", lambda _: START_US)
    return SharedClock()


@pytest.mark.parametrize(
    ("off_seconds", "answer_seconds", "moved_seconds"),
    [
        (30.0, 0.0, 30.0),
        (-30.0, 0.0, -30.0),
        (0.9, 0.0, 0.0),
        (-0.9, 0.0, 0.0),
        (30.0, 2.0, 30.0),
        (8.0, 20.0, 0.0),
    ],
    ids=["behind", "ahead", "nearly right", "nearly right, ahead", "a slow answer", "the answer took longer"],
)
def test_a_clock_that_is_off_for_certain_is_put_right(
    clock: SharedClock, off_seconds: float, answer_seconds: float, moved_seconds: float
) -> None:
    middle_us = START_US + seconds(answer_seconds / 2)

    moved_us = clock.follow(
        middle_us + seconds(off_seconds), asked_us=START_US, heard_us=START_US + seconds(answer_seconds)
    )

    assert moved_us == seconds(moved_seconds)
    assert clock.now_us() == START_US + seconds(moved_seconds)


def test_what_was_put_right_is_measured_by_the_time_it_shows_now(clock: SharedClock) -> None:
    clock.follow(START_US + seconds(30), asked_us=START_US, heard_us=START_US)

    now_us = clock.now_us()
    again_us = clock.follow(START_US + seconds(30), asked_us=now_us, heard_us=now_us)

    assert again_us == 0
    assert clock.now_us() == START_US + seconds(30)
