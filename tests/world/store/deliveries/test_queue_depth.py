"""What is in flight is counted without looking at what is finished."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from tests.opened_database import KINDS, opened_database
from tests.world.store.delivery_rows import NOON_US, request_row, write

from postroom.domain.figures import Depth
from postroom.world.store.deliveries.queue_depth import counted, depth
from postroom.world.store.engine.database import Database


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as one:
        yield one


@pytest.mark.requirement("messenger:queue-depth-monitoring")
async def test_pending_and_in_progress_are_counted_by_channel(database: Database) -> None:
    await write(
        database,
        [
            request_row(NOON_US + 5, status="pending"),
            request_row(NOON_US + 6, status="pending"),
            request_row(NOON_US + 4, status="in_progress", channel="email"),
            *(request_row(NOON_US, status=status) for status in ("delivered", "failed", "dead_lettered")),
            request_row(NOON_US, status="awaiting_approval"),
        ],
    )

    assert await database.read(partial(depth, channel=None)) == Depth(
        counts={("telegram", "pending"): 2, ("email", "in_progress"): 1}, oldest_created_at_us=NOON_US + 4
    )
    assert await database.read(partial(depth, channel="telegram")) == Depth(
        counts={("telegram", "pending"): 2}, oldest_created_at_us=NOON_US + 5
    )


async def test_an_empty_queue_has_no_oldest(database: Database) -> None:
    assert await database.read(partial(depth, channel=None)) == Depth(counts={}, oldest_created_at_us=None)


@pytest.mark.parametrize("channel", [None, "telegram"])
async def test_ten_thousand_finished_deliveries_are_not_read(database: Database, channel: str | None) -> None:
    await write(database, [request_row(NOON_US + n) for n in range(10_000)])

    def plan(connection: Connection) -> str:
        on_postgres = connection.dialect.name == "postgresql"
        connection.execute(text("ANALYZE messenger.delivery_requests" if on_postgres else "ANALYZE"))
        statement = counted(channel).compile(
            connection, compile_kwargs={"literal_binds": True, "render_postcompile": True}
        )
        asked = f"EXPLAIN {statement}" if on_postgres else f"EXPLAIN QUERY PLAN {statement}".replace("messenger.", "")
        return "\n".join(str(tuple(row)) for row in connection.exec_driver_sql(asked))

    told = await database.write(plan)

    by_key = "SEARCH delivery_requests USING INDEX ix_delivery_requests_channel_status_id (channel=? AND status=?)"
    assert re.search(r"ix_delivery_requests_(order|due|wake|lease)", told) or by_key in told, told
