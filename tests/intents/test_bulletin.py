"""Whoever looks for news and then waits for more misses nothing in between."""

from __future__ import annotations

import asyncio

from tests.clock import FakeClock

from postroom.intents.bulletin import Bulletin

PATIENCE_SECONDS = 5


async def test_news_that_comes_while_somebody_looks_ends_the_wait(clock: FakeClock) -> None:
    bulletin = Bulletin(clock)
    news = bulletin.news()

    bulletin.ring()  # after the look began, before the wait

    async with asyncio.timeout(PATIENCE_SECONDS):
        await bulletin.wait(news, clock.now_us() + 60_000_000)


async def test_everybody_who_waits_is_woken_once(clock: FakeClock) -> None:
    bulletin = Bulletin(clock)
    waiting = [asyncio.create_task(bulletin.wait(bulletin.news(), clock.now_us() + 60_000_000)) for _ in range(3)]
    await asyncio.sleep(0)

    bulletin.ring()

    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.gather(*waiting)
    assert not bulletin.news().is_set()
