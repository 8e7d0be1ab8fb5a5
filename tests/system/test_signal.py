"""A caller that looks for news and then waits for more misses nothing in between."""

from __future__ import annotations

import asyncio

from postroom.system.signal import Signal
from tests.patience import PATIENCE_SECONDS


async def test_news_that_comes_during_a_look_ends_the_wait_after_it() -> None:
    signal = Signal()
    news = signal.news()

    signal.ring()  # after the look began, before the wait

    async with asyncio.timeout(PATIENCE_SECONDS):
        await news.wait()


async def test_everyone_who_waits_is_woken_once() -> None:
    signal = Signal()
    waiting = [asyncio.create_task(signal.news().wait()) for _ in range(3)]
    await asyncio.sleep(0)

    signal.ring()

    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.gather(*waiting)
    assert not signal.news().is_set()


async def test_one_who_looks_does_not_take_the_news_from_another() -> None:
    signal = Signal()
    slow = signal.news()
    signal.ring()
    quick = signal.news()

    assert slow.is_set()
    assert not quick.is_set()


async def test_closing_wakes_those_who_wait_and_says_so() -> None:
    signal = Signal()
    news = signal.news()

    signal.close()

    assert (news.is_set(), signal.is_closed) == (True, True)
