"""Open pages hear of changes, and of none that is not theirs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from postroom.console.live import Bulk, Changes, Ear, Work
from postroom.kernel.serving.json_door import End, StreamEvent
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.overview.today import told
from tests.clock import FakeClock
from tests.patience import PATIENCE_SECONDS
from tests.support.counted import CountedLoops

# -- Open pages hear of changes by one question to the store, and of none that is not theirs --


class Told:
    """A store that says what the test wants, and when."""

    def __init__(self) -> None:
        self.pulses: dict[str, tuple[Any, ...]] = {"deliveries": (1,), "inbox:ann": (), "inbox:bob": ()}
        self.looks = 0
        self.away = False

    async def look(self, user_ids: Collection[str], now_us: int) -> Mapping[str, tuple[Any, ...]]:
        self.looks += 1
        if self.away:
            raise StoreUnavailable("away")
        return dict(self.pulses)


@asynccontextmanager
async def running(told: Told, clock: FakeClock) -> AsyncIterator[Changes]:
    changes = Changes(told, clock)
    async with CountedLoops(clock).running("changes", changes.look, wake=changes.anybody, stopping=changes.stopping):
        yield changes
        changes.stop()


async def test_nobody_asks_while_no_page_is_open(clock: FakeClock) -> None:
    told = Told()
    async with running(told, clock):
        await clock.advance(60)

    assert told.looks == 0


async def test_all_pages_together_ask_once_and_each_hears(clock: FakeClock) -> None:
    told = Told()
    async with running(told, clock) as changes:
        with changes.listening("ann") as ann, changes.listening("bob") as bob:
            await clock.parked()
            assert ann.take() == bob.take() == []

            told.pulses["deliveries"] = (2,)
            before = told.looks
            await clock.advance(1.0)

            assert told.looks == before + 1
            assert ann.take() == bob.take() == ["deliveries"]


async def test_a_page_hears_of_what_happened_between_its_reading_and_its_listening(clock: FakeClock) -> None:
    told = Told()
    told.pulses["approvals"] = (clock.now_us() - 1_000_000, 1)
    async with running(told, clock) as changes:
        with changes.listening("ann") as ann:
            await clock.parked()
            assert ann.take() == ["approvals"]

            await clock.advance(1.0)
            assert ann.take() == []


async def test_an_inbox_rings_for_its_owner_alone_and_falling_quiet_is_no_news(clock: FakeClock) -> None:
    told = Told()
    async with running(told, clock) as changes:
        with changes.listening("ann") as ann, changes.listening("bob") as bob:
            await clock.parked()
            told.pulses["inbox:ann"] = (5, 1)
            await clock.advance(1.0)
            assert (ann.take(), bob.take()) == (["inbox"], [])

            told.pulses["inbox:ann"] = ()
            await clock.advance(1.0)
            assert ann.take() == []


async def test_a_store_that_is_away_is_asked_again(clock: FakeClock) -> None:
    told = Told()
    async with running(told, clock) as changes:
        with changes.listening("ann") as ann:
            await clock.parked()
            told.away = True
            await clock.advance(1.0)
            told.away, told.pulses["deliveries"] = False, (9,)
            await clock.advance(1.0)

            assert ann.take() == ["deliveries"]


def test_an_ear_is_deaf_to_what_is_not_its_own() -> None:
    ear = Ear("ann")
    news = ear.news()
    ear.hear("inbox:bob")

    assert ear.take() == [] and not news.is_set()


async def test_a_page_opened_while_its_inbox_stirs_is_told_once(clock: FakeClock) -> None:
    told = Told()
    told.pulses["inbox:ann"] = (7, 1)
    async with running(told, clock) as changes:
        with changes.listening("ann") as ann:
            await clock.parked()
            assert ann.take() == ["inbox"]

            await clock.advance(5)
            assert ann.take() == []


# -- What an open page is told, and what its silence costs --


class Session:
    def __init__(self, is_open: bool = True) -> None:
        self.is_open = is_open
        self.looks = 0

    async def __call__(self) -> bool:
        self.looks += 1
        return self.is_open


def heard(*topics: str) -> Ear:
    ear = Ear("ann")
    for topic in topics:
        ear.hear(topic)
    return ear


async def test_its_session_is_looked_at_once_for_all_it_is_told_and_not_while_nothing_happens() -> None:
    session = Session()

    assert [one async for one in told(session, heard())] == [] and session.looks == 0
    words = [one async for one in told(session, heard("questions", "deliveries"))]

    assert [one.name for one in words if isinstance(one, StreamEvent)] == ["deliveries", "questions"]
    assert session.looks == 1


async def test_where_the_session_was_ended_the_stream_ends_before_the_first_word() -> None:
    first = await anext(told(Session(is_open=False), heard("deliveries")))

    assert isinstance(first, End)


ANN = Principal(Role.USER, "ann")


def new_bulk() -> Bulk:
    numbers = count(1)
    return Bulk(lambda: f"work-{next(numbers)}")


async def finished(work: Work) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not work.finished:
            await asyncio.sleep(0)


async def test_every_one_is_done_once_and_problems_are_told() -> None:
    seen: list[str] = []

    async def step(name: str) -> str | None:
        seen.append(name)
        await asyncio.sleep(0)
        return "cannot be done" if name == "7" else None

    work = new_bulk().begin("Trying", OPERATOR, [str(n) for n in range(20)], step)
    await finished(work)

    assert sorted(seen, key=int) == [str(n) for n in range(20)]
    assert (work.succeeded, work.failed, work.problems) == (19, 1, [("7", "cannot be done")])


async def test_only_a_few_are_under_way_at_once() -> None:
    under_way, most = 0, 0

    async def step(_name: str) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1

    await finished(new_bulk().begin("Trying", OPERATOR, [str(n) for n in range(50)], step))

    assert most == 4


async def test_progress_is_shown_to_the_one_who_began_it() -> None:
    bulk = new_bulk()

    async def step(_name: str) -> None:
        return None

    work = bulk.begin("Trying", OPERATOR, ["a"], step)

    assert bulk.find(work.id, OPERATOR) is work
    assert bulk.find(work.id, ANN) is None and bulk.find("another", OPERATOR) is None
    await finished(work)


async def test_closing_waits_for_what_has_begun_and_leaves_the_rest() -> None:
    bulk, going, gate = new_bulk(), asyncio.Event(), asyncio.Event()
    done: list[str] = []

    async def step(name: str) -> None:
        going.set()
        await gate.wait()
        done.append(name)

    work = bulk.begin("Trying", OPERATOR, [str(n) for n in range(10)], step)
    await going.wait()
    closing = asyncio.create_task(bulk.close())
    await asyncio.sleep(0)
    gate.set()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await closing

    assert len(done) == work.done == 4 and work.stopped


async def test_a_mistake_of_ours_with_one_ends_neither_the_others_nor_the_work() -> None:
    async def step(name: str) -> None:
        if name == "3":
            raise KeyError(name)

    work = new_bulk().begin("Trying", OPERATOR, [str(n) for n in range(20)], step)
    await finished(work)

    assert (work.succeeded, work.failed) == (19, 1)
    assert work.problems == [("3", "failed by a mistake of ours (KeyError)")]
