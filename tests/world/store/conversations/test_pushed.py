"""What a provider brought, on either database: once, in order, and without its words when it is handled."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.clock import START_US
from tests.opened_database import KINDS, opened_database

from postroom.domain.time import seconds
from postroom.world.store.conversations.pushed import REMEMBERED_SECONDS, StoredPushes


@pytest.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[StoredPushes]:
    async with opened_database(request.param, tmp_path, request) as one:
        yield StoredPushes(one)


@pytest.mark.requirement("talk:webhook-once")
async def test_an_update_waits_until_it_is_handled_and_never_comes_back(store: StoredPushes) -> None:
    for number, at_us in ((8, 0), (7, 1), (8, 2)):
        await store.keep("telegram", number, {"update_id": number, "text": "a\x00b"}, START_US + at_us)
    await store.keep("other", 7, {"update_id": 7}, START_US)

    assert [number for number, _ in await store.waiting("telegram", 10)] == [7, 8]
    assert (await store.waiting("telegram", 1))[0][1] == {"update_id": 7, "text": "a\x00b"}
    assert await store.last_us("telegram") == START_US + 1

    await store.handled("telegram", [7], START_US)
    await store.keep("telegram", 7, {"update_id": 7}, START_US)
    assert [number for number, _ in await store.waiting("telegram", 10)] == [8]
    assert len(await store.waiting("other", 10)) == 1


async def test_numbers_are_forgotten_when_telegram_may_count_anew(store: StoredPushes) -> None:
    await store.keep("telegram", 7, {"update_id": 7}, START_US)
    await store.handled("telegram", [7], START_US)

    await store.handled("telegram", [], START_US + seconds(REMEMBERED_SECONDS) + 1)

    assert await store.last_us("telegram") == 0
