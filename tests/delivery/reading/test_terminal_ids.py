"""Which deliveries are over, asked of both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.opened_database import KINDS, opened_database
from tests.support.delivery_rows import NOON_US, request_row, write

from postroom.delivery.reading.search import settled_among
from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import IdMint


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as one:
        yield one


async def test_only_what_has_ended_is_named_however_many_are_asked_about(database: Database) -> None:
    mint = IdMint()
    ids = {name: mint.mint(NOON_US) for name in ("delivered", "failed", "pending")}
    rows = [
        request_row(NOON_US, id=one, status=name, terminal_at=None if name == "pending" else NOON_US)
        for name, one in ids.items()
    ]
    await write(database, rows)
    strangers = [mint.mint(NOON_US) for _ in range(2500)]

    over = await database.read(lambda connection: settled_among(connection, [*strangers, *ids.values()]))

    assert set(over) == {ids["delivered"], ids["failed"]}
