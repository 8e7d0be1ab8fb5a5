"""Whoever listens hears of what happens, here and elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.clock import START_US, FakeClock
from tests.patience import PATIENCE_SECONDS
from tests.system.counted import CountedLoops
from tests.work.inbox.examples import MINT, a_notification

from postroom.domain.email_copy import Drop
from postroom.work.inbox.feed import LOOK_SECONDS, Feed
from postroom.world.store.engine.sqlite import SqliteDatabase
from postroom.world.store.inbox.inbox import StoredNotes


@pytest.fixture
async def notes(tmp_path: Path) -> AsyncIterator[StoredNotes]:
    database = SqliteDatabase(tmp_path / "inbox.db")
    await database.migrate()
    yield StoredNotes(database, MINT.mint)
    await database.close()


@pytest.fixture
async def feed(notes: StoredNotes, clock: FakeClock) -> AsyncIterator[Feed]:
    feed = Feed(notes, clock)
    async with CountedLoops(clock).running("feed", feed.look, wake=feed.anybody, stopping=feed.stopping):
        yield feed
        feed.stop()


async def keep_elsewhere(notes: StoredNotes, user_id: str) -> None:
    """As another process would: without a word to this one."""
    new = a_notification(user_id, at_us=START_US)
    assert await notes.create(new, hourly_cap=10, judge=lambda *_: Drop("not asked for")) is not None


async def test_what_happens_here_rings_at_once_and_for_its_owner_alone(feed: Feed) -> None:
    with feed.listening("ada") as ada, feed.listening("ada") as another, feed.listening("bob") as bob:
        heard = [signal.news() for signal in (ada, another, bob)]
        feed.ring("ada")

        assert [news.is_set() for news in heard] == [True, True, False]


async def test_what_happens_elsewhere_rings_at_the_next_look(feed: Feed, notes: StoredNotes, clock: FakeClock) -> None:
    with feed.listening("ada") as ada, feed.listening("bob") as bob:
        first, bobs = ada.news(), bob.news()
        await clock.parked()
        await keep_elsewhere(notes, "ada")
        await clock.advance(LOOK_SECONDS)
        await asyncio.wait_for(first.wait(), PATIENCE_SECONDS)
        second = ada.news()
        await clock.parked()
        await clock.advance(LOOK_SECONDS)
        await clock.parked()

        assert not second.is_set(), "nothing new has happened"
        assert not bobs.is_set()


async def test_nobody_asks_the_store_while_nobody_listens(feed: Feed, clock: FakeClock) -> None:
    with feed.listening("ada"):
        await clock.parked()
    await clock.advance(LOOK_SECONDS)

    assert clock.waiting == 0


async def test_when_it_stops_every_listener_is_woken(feed: Feed) -> None:
    with feed.listening("ada") as signal:
        news = signal.news()
        feed.stop()

        assert (news.is_set(), signal.is_closed, feed.stopping.is_set()) == (True, True, True)
    with feed.listening("bob") as late:
        assert late.is_closed
