"""A call that takes too long is given up, and no other is."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from tests.patience import PATIENCE_SECONDS

from postroom.kernel.running.clock import Overdue


async def forever() -> str:
    await asyncio.Event().wait()
    return "never"


async def at_once() -> str:
    return "sent"


async def in_a_while() -> str:
    for _ in range(20):
        await asyncio.sleep(0)
    return "sent"


@pytest.fixture
def overdue() -> Overdue:
    return Overdue(look_every_seconds=0)


async def test_a_call_that_never_ends_is_ended(overdue: Overdue) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        with pytest.raises(TimeoutError):
            await overdue.limit(forever(), 0)

    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_only_the_one_that_is_late_is_given_up(overdue: Overdue) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        late, other = await asyncio.gather(
            overdue.limit(forever(), 0), overdue.limit(in_a_while(), 3600), return_exceptions=True
        )

    assert isinstance(late, TimeoutError)
    assert other == "sent"


async def test_being_cancelled_by_others_is_no_lateness(overdue: Overdue) -> None:
    calling = asyncio.create_task(overdue.limit(forever(), 3600))
    await asyncio.sleep(0)
    calling.cancel()

    [end] = await asyncio.gather(calling, return_exceptions=True)
    assert isinstance(end, asyncio.CancelledError)


async def test_being_cancelled_while_late_is_still_being_cancelled(overdue: Overdue) -> None:
    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            calling.cancel()
            raise

    calling = asyncio.create_task(overdue.limit(stubborn(), 0))
    [end] = await asyncio.wait_for(asyncio.gather(calling, return_exceptions=True), PATIENCE_SECONDS)

    assert isinstance(end, asyncio.CancelledError)


async def test_nobody_looks_when_nothing_is_being_called(overdue: Overdue) -> None:
    await overdue.limit(at_once(), 3600)
    for _ in range(3):
        await asyncio.sleep(0)
    scheduled = []
    loop = asyncio.get_running_loop()
    later = loop.call_later
    loop.call_later = lambda *arguments, **options: scheduled.append(arguments) or later(*arguments, **options)  # type: ignore[method-assign, func-returns-value]
    try:
        for _ in range(10):
            await asyncio.sleep(0)
    finally:
        loop.call_later = later  # type: ignore[method-assign]

    assert scheduled == []


async def test_a_call_that_answers_all_the_same_leaves_nothing_behind_for_the_next(overdue: Overdue) -> None:
    async def deaf() -> str:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return "sent"

    task = asyncio.current_task()
    assert task is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await overdue.limit(deaf(), 0) == "sent"
        assert task.cancelling() == 0

        with pytest.raises(TimeoutError):
            await overdue.limit(forever(), 0)


async def test_a_call_that_fails_in_its_own_words_leaves_nothing_behind_either(overdue: Overdue) -> None:
    async def sulking() -> str:
        try:
            return await forever()
        except asyncio.CancelledError:
            raise ConnectionError from None

    task = asyncio.current_task()
    assert task is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        with pytest.raises(ConnectionError):
            await overdue.limit(sulking(), 0)

    assert task.cancelling() == 0


async def test_one_who_was_asked_to_stop_before_and_went_on_is_late_all_the_same(overdue: Overdue) -> None:
    async def calls() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return await overdue.limit(forever(), 0)
        return "never"

    calling = asyncio.create_task(calls())
    await asyncio.sleep(0)
    calling.cancel()

    [end] = await asyncio.wait_for(asyncio.gather(calling, return_exceptions=True), PATIENCE_SECONDS)
    assert isinstance(end, TimeoutError)


async def test_a_call_within_a_call_has_no_more_time_than_the_one_around_it() -> None:
    overdue = Overdue(look_every_seconds=0.001)
    never = asyncio.Event()
    heard = list[str]()

    async def within() -> None:
        try:
            await overdue.limit(never.wait(), 600)
        except TimeoutError:
            heard.append("the inner one was given up with the outer one")
        await never.wait()

    with pytest.raises(TimeoutError):
        await overdue.limit(within(), 0.01)

    assert heard == ["the inner one was given up with the outer one"]


async def test_after_a_call_within_it_a_call_still_has_its_own_time() -> None:
    overdue = Overdue(look_every_seconds=0.001)
    never = asyncio.Event()

    async def within() -> None:
        with pytest.raises(TimeoutError):
            await overdue.limit(never.wait(), 0.001)
        await overdue.limit(asyncio.sleep(0), 0.001)
        await never.wait()

    with pytest.raises(TimeoutError):
        await overdue.limit(within(), 0.05)
