"""The real clock: alarms near and far ring when they should, and never after they were cancelled."""

from __future__ import annotations

import asyncio

import pytest

from postroom import clock as clocks
from postroom.clock import SystemClock
from postroom.domain.time import seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SystemClock:
    monkeypatch.setattr(clocks, "_NEAR_SECONDS", 0.01)
    monkeypatch.setattr(clocks, "_LOOK_SECONDS", 0.001)
    return SystemClock()


@pytest.mark.parametrize("after_seconds", [-1, 0, 0.001, 0.02, 0.05], ids=["past", "now", "near", "far", "farther"])
async def test_an_alarm_rings_not_before_its_time(clock: SystemClock, after_seconds: float) -> None:
    rung: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    at = clock.now_us() + seconds(after_seconds)
    clock.ring(at, lambda: rung.set_result(clock.now_us()))

    async with asyncio.timeout(20):
        assert await rung >= at - 1000  # the loop's clock and the wall's may differ by a little


async def test_a_cancelled_alarm_is_silent_and_the_others_ring_in_turn(clock: SystemClock) -> None:
    rung: list[str] = []
    done = asyncio.Event()
    now = clock.now_us()
    clock.ring(now + seconds(0.03), lambda: rung.append("second"))
    silent = clock.ring(now + seconds(0.02), lambda: rung.append("never"))
    clock.ring(now + seconds(0.02), lambda: rung.append("first"))
    clock.ring(now + seconds(0.06), done.set)
    silent.cancel()
    silent.cancel()

    async with asyncio.timeout(20):
        await done.wait()
    assert rung == ["first", "second"]


async def test_a_bell_may_set_another_alarm(clock: SystemClock) -> None:
    done = asyncio.Event()
    clock.ring(clock.now_us() + seconds(0.02), lambda: clock.ring(clock.now_us() + seconds(0.02), done.set) and None)

    async with asyncio.timeout(20):
        await done.wait()


def test_a_clock_outlives_its_loop(clock: SystemClock) -> None:
    async def leave() -> None:
        clock.ring(clock.now_us() + seconds(600), lambda: None)

    async def wait() -> None:
        done = asyncio.Event()
        clock.ring(clock.now_us() + seconds(0.02), done.set)
        async with asyncio.timeout(20):
            await done.wait()

    asyncio.run(leave())
    asyncio.run(wait())
