"""Work on many things: all of them, a few at a time, and honest about what could not be done."""

from __future__ import annotations

import asyncio
from itertools import count

from postroom.console.lists import Bulk, Work
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from tests.patience import PATIENCE_SECONDS

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
