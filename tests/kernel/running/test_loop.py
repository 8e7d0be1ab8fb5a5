"""A loop goes on whatever its rounds do, keeps its distance from what fails, and says so."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import pytest
from tests.clock import START_US, FakeClock
from tests.patience import PATIENCE_SECONDS
from tests.support.counted import CountedLoops

from postroom.kernel.running import telemetry as log
from postroom.kernel.running.loop import LoopTrouble, Signal
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.ids import seconds

SECRET = "what somebody wrote to somebody"


class Rounds:
    """Each look does what the list says, and all that come after it are well."""

    def __init__(self, clock: FakeClock, *endings: Exception | None, every_seconds: float | None = 60.0) -> None:
        self.endings = list(endings)
        self.looks: list[float] = []
        self._clock = clock
        self._every_seconds = every_seconds

    async def look(self) -> int | None:
        now_us = self._clock.now_us()
        self.looks.append((now_us - START_US) / 1_000_000)
        if self.endings and (failure := self.endings.pop(0)):
            raise failure
        return None if self._every_seconds is None else now_us + seconds(self._every_seconds)


async def test_it_looks_at_once_and_then_when_the_last_look_said(clock: FakeClock) -> None:
    rounds = Rounds(clock)
    async with CountedLoops(clock).running("one", rounds.look):
        await clock.advance(120)

    assert rounds.looks == [0, 60, 120]


async def test_woken_it_looks_before_its_time_and_without_one_only_then(clock: FakeClock) -> None:
    rounds, wake = Rounds(clock, every_seconds=None), Signal()
    async with CountedLoops(clock).running("one", rounds.look, wake=wake):
        await clock.advance(1000)
        wake.ring()
        await clock.advance(1000)

    assert rounds.looks == [0, 1000]


async def test_what_happens_during_a_look_is_seen_by_the_next(clock: FakeClock) -> None:
    looks, wake = list[int](), Signal()

    async def look() -> None:
        looks.append(len(looks))
        if len(looks) == 1:
            wake.ring()

    async with CountedLoops(clock).running("one", look, wake=wake):
        await clock.advance(1)

    assert looks == [0, 1]


async def test_a_failure_is_paused_over_for_longer_each_time_and_waking_does_not_shorten_it(clock: FakeClock) -> None:
    rounds, wake = Rounds(clock, *[KeyError(SECRET)] * 6), Signal()
    async with CountedLoops(clock).running("one", rounds.look, wake=wake) as loop:
        await clock.advance(0.5)
        wake.ring()
        await clock.advance(60)

        assert rounds.looks == [0, 1, 3, 7, 15, 30, 45]
        assert loop.trouble is None


async def test_a_store_that_is_away_is_asked_again_soon_and_is_no_failure_of_the_loop(clock: FakeClock) -> None:
    rounds, loops = Rounds(clock, *[StoreUnavailable("away")] * 3), CountedLoops(clock)
    async with loops.running("one", rounds.look):
        await clock.advance(1)
        assert loops.failing() == []
        await clock.advance(2)

    assert (rounds.looks, loops.errors) == ([0, 0.5, 1, 1.5], [])


async def test_a_store_that_stays_away_is_told(clock: FakeClock) -> None:
    rounds, loops = Rounds(clock, *[StoreUnavailable("away")] * 100), CountedLoops(clock)
    async with loops.running("one", rounds.look):
        await clock.advance(31)

        [trouble] = loops.failing()
        assert (trouble.loop, trouble.kind, trouble.since_us) == ("one", "StoreUnavailable", START_US)


async def test_what_fails_is_told_with_its_kind_since_when_and_how_often(clock: FakeClock) -> None:
    rounds, loops = Rounds(clock, KeyError(SECRET), KeyError(SECRET), ValueError(SECRET)), CountedLoops(clock)
    async with loops.running("sound", Rounds(clock).look), loops.running("one", rounds.look):
        await clock.advance(3)

        assert loops.failing() == [
            LoopTrouble(loop="one", kind="ValueError", is_outage=False, since_us=START_US, failures=3)
        ]
        await clock.advance(60)
        assert loops.failing() == []
    assert loops.errors == [("one", "KeyError"), ("one", "KeyError"), ("one", "ValueError")]
    assert loops.all == []


async def test_each_kind_is_logged_once_until_it_is_over_and_never_with_its_text(clock: FakeClock) -> None:
    written = io.StringIO()
    log.configure_log("INFO", written)
    endings = [KeyError(SECRET), KeyError(SECRET), ValueError(SECRET), None, ValueError(SECRET)]
    async with CountedLoops(clock).running("one", Rounds(clock, *endings, every_seconds=1).look):
        await clock.advance(60)

    told: list[dict[str, Any]] = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [(one["event"], one.get("kind")) for one in told] == [
        ("loop.failed", "KeyError"),
        ("loop.failed", "ValueError"),
        ("loop.recovered", None),
        ("loop.failed", "ValueError"),
        ("loop.recovered", None),
    ]
    assert SECRET not in written.getvalue()


@pytest.mark.parametrize("failure", [None, KeyError("k")], ids=["waiting", "pausing"])
async def test_it_stops_at_once_wherever_it_is(clock: FakeClock, failure: Exception | None) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS), CountedLoops(clock).running("one", Rounds(clock, failure).look):
        await clock.parked()


async def test_the_last_look_may_end_unless_it_may_be_cut_off(clock: FakeClock) -> None:
    ended, begun, release = list[str](), asyncio.Event(), asyncio.Event()

    async def look() -> None:
        begun.set()
        await release.wait()
        ended.append("look")

    async with asyncio.timeout(PATIENCE_SECONDS):
        async with CountedLoops(clock).running("one", look, cut_off=True):
            await begun.wait()
        assert ended == []
        begun.clear()
        async with CountedLoops(clock).running("one", look):
            await begun.wait()
            asyncio.get_running_loop().call_soon(release.set)
    assert ended == ["look"]


async def test_one_who_looks_does_not_take_the_news_from_another() -> None:
    signal = Signal()
    slow = signal.news()
    signal.ring()
    quick = signal.news()

    assert slow.is_set()
    assert not quick.is_set()
