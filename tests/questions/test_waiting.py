"""Many who wait cost one look at a time, and an end that another process committed wakes the right ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.work.questions.asking_office import ANNA, HEALTH, Book, Office, office_on, opened_office

from postroom.questions.rules.reading import Given
from postroom.questions.telling import LOOK_SECONDS


@pytest.fixture
async def office(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Office]:
    async with opened_office("sqlite", tmp_path, request) as one:
        yield one


async def test_one_look_serves_all_who_wait(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = {"for_asker": 0, "events": 0}
    for name in reads:
        inner = getattr(office.store, name)

        async def counted(*arguments: object, _name: str = name, _inner: object = inner, **named: object) -> object:
            reads[_name] += 1
            return await _inner(*arguments, **named)  # type: ignore[operator]

        monkeypatch.setattr(office.store, name, counted)
    views = [await office.ask(to="Anna", question=f"Number {number}?") for number in range(10)]
    waiting = [
        asyncio.create_task(office.asking.wait(HEALTH, ask_id=view.question.id, wait_seconds=60)) for view in views
    ]
    await office.clock.parked(10)
    await office.clock.advance(LOOK_SECONDS)  # all look once, when it is known where the feed ends
    await office.clock.parked(10)
    reads.update(for_asker=0, events=0)

    for _ in range(5):
        await office.clock.advance(LOOK_SECONDS)
        await office.clock.parked(10)

    assert reads["for_asker"] == 0
    assert reads["events"] <= 5
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_where_others_are_heard_nobody_looks_every_moment(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = await office.ask(to="Anna")
    waiting = asyncio.create_task(office.asking.wait(HEALTH, ask_id=view.question.id, wait_seconds=60))
    await office.clock.parked(1)
    await office.clock.advance(LOOK_SECONDS)  # the first look finds out where the feed ends
    await office.clock.parked(1)
    looks = 0

    async def counted(**_: object) -> list[object]:
        nonlocal looks
        looks += 1
        return []

    monkeypatch.setattr(office.store, "events", counted)
    monkeypatch.setattr(office.asking.bells, "hears_others", lambda: True)
    await office.clock.advance(LOOK_SECONDS)  # from now on
    await office.clock.parked(1)
    looks = 0

    for _ in range(10):
        await office.clock.advance(LOOK_SECONDS)
    assert looks == 0

    office.asking.bells.ring_elsewhere(view.question.id)
    await office.clock.parked(1)
    assert not waiting.done()  # it looked, and goes on waiting
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_when_the_one_that_looks_leaves_another_one_does(office: Office) -> None:
    first, second = await office.ask(to="Anna"), await office.ask(to="Anna", question="And this?")
    leading = asyncio.create_task(office.asking.wait(HEALTH, ask_id=first.question.id, wait_seconds=60))
    await office.clock.parked(1)
    waiting = asyncio.create_task(office.asking.wait(HEALTH, ask_id=second.question.id, wait_seconds=60))
    await office.clock.parked(2)
    leading.cancel()
    await asyncio.gather(leading, return_exceptions=True)
    await office.clock.parked(1)

    elsewhere = office_on(office.database, office.clock, Book())
    await elsewhere.asking.answer(ANNA, second.question.id, Given(value="no"), channel="console", event_id="1")
    await office.clock.advance(LOOK_SECONDS)

    view = await asyncio.wait_for(waiting, PATIENCE_SECONDS)
    assert view.question.answer is not None and view.question.answer.value == "no"
