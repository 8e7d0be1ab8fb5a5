from __future__ import annotations

import asyncio

import pytest

from postroom.domain.time import seconds
from postroom.sandbox.clock import MachineClock


@pytest.mark.parametrize("is_set", [True, False])
async def test_a_wait_whose_time_has_come_says_whether_the_event_was_set(is_set: bool) -> None:
    clock, event = MachineClock(), asyncio.Event()
    if is_set:
        event.set()

    assert await clock.wait(event, clock.now_us() - seconds(1)) is is_set


@pytest.mark.parametrize("until_seconds", [None, 60.0])
async def test_the_event_ends_the_wait_before_its_time(until_seconds: float | None) -> None:
    clock, event = MachineClock(), asyncio.Event()
    until_us = None if until_seconds is None else clock.now_us() + seconds(until_seconds)
    waiting = asyncio.create_task(clock.wait(event, until_us))

    event.set()

    assert await asyncio.wait_for(waiting, 5)
