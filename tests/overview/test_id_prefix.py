"""Ids that begin alike are found in both databases, wherever they are kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from tests.opened_database import KINDS, opened_database
from tests.support.delivery_rows import NOON_US, request_row, write

from postroom.kernel.database.engine import Database
from postroom.overview.story import ids_with_prefix


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as one:
        yield one


async def beginning(database: Database, prefix: str, origin: str | None = None) -> dict[str, str]:
    return await database.read(partial(ids_with_prefix, prefix=prefix, origin=origin, most=10))


async def test_deliveries_and_requests_are_found_by_how_they_begin(database: Database) -> None:
    rows = [
        request_row(NOON_US, id="01aa-1", request_id="01aa-0"),
        request_row(NOON_US, id="01ab-1", request_id="breakfast"),
    ]
    await write(database, rows)

    assert await beginning(database, "01aa") == {"01aa-1": "01aa-0", "01aa-0": "01aa-0"}
    assert await beginning(database, "01") == {"01ab-1": "breakfast", "01aa-1": "01aa-0", "01aa-0": "01aa-0"}
    assert await beginning(database, "break") == {"breakfast": "breakfast"}


@pytest.mark.parametrize("prefix", ["%", "_1aa", "01aa-1x"])
async def test_only_what_really_begins_so_is_found(database: Database, prefix: str) -> None:
    await write(database, [request_row(NOON_US, id="01aa-1")])

    assert await beginning(database, prefix) == {}


async def test_with_an_origin_only_its_own_are_found(database: Database) -> None:
    await write(database, [request_row(NOON_US, id="01aa-1", origin_butler="health")])

    assert list(await beginning(database, "01aa", "health")) == ["01aa-1"]
    assert await beginning(database, "01aa", "general") == {}
