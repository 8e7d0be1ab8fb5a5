"""Searching the ledger: filters, order, and pages over very many rows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from tests.opened_database import KINDS, opened_database
from tests.support.delivery_rows import NOON_US, attempt_row, request_row, write

from postroom.delivery.reading.file import DeliveryQuery, RowPage
from postroom.kernel.database.engine import Database
from postroom.overview.story import StoredDeliveries, search


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as one:
        yield one


@pytest.mark.requirement("messenger:delivery-search")
async def test_rows_of_one_moment_keep_their_order_over_pages(database: Database) -> None:
    rows = [request_row(NOON_US) for _ in range(30)]
    await write(database, rows)
    seen: list[str] = []
    before = None
    for _ in range(4):
        found = await database.read(partial(search, query=DeliveryQuery(page=RowPage(limit=8, before=before))))
        seen += [one["delivery_id"] for one in found[:8]]
        before = seen[-1]

    assert seen == [one["id"] for one in reversed(rows)]


@pytest.mark.requirement("messenger:delivery-search")
async def test_one_row_more_than_the_page_tells_that_there_are_more(database: Database) -> None:
    await write(database, [request_row(NOON_US + n) for n in range(3)])

    for limit, found in ((1, 2), (2, 3), (3, 3), (4, 3)):
        rows = await database.read(partial(search, query=DeliveryQuery(page=RowPage(limit=limit))))
        assert len(rows) == found, limit


@pytest.mark.requirement("messenger:attempt-log")
async def test_a_delivery_without_attempts_is_not_an_unknown_one(database: Database) -> None:
    waiting, tried = request_row(status="pending", calls=0), request_row()
    await write(database, [waiting, tried], [attempt_row(tried, 2, 1.0), attempt_row(tried, 1, 2.0)])
    record = StoredDeliveries(database)

    assert await record.attempts(waiting["id"]) == []
    assert [one["attempt_number"] for one in await record.attempts(tried["id"]) or ()] == [1, 2]
    assert await record.attempts("unknown") is None
    assert await record.delivery("unknown") is None
    status = await record.delivery(waiting["id"])
    assert status is not None
    assert (status["latest_attempt"], status["next_attempt_at"]) == (None, "2026-01-01T12:00:00.000000Z")
