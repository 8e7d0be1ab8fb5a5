"""The switchboard's log: a row for every call, whatever was in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from sqlalchemy import select
from tests.opened_database import KINDS, opened_database
from tests.world.store.sample_deliveries import NOON_US, mint, new_delivery

from postroom.domain.errors import ValidationError
from postroom.domain.hop import Hop
from postroom.domain.ids import DeliveryId
from postroom.domain.outcome import AnswerStatus, Outcome, refused
from postroom.world.store.deliveries.hop_log import StoredNotificationsLog
from postroom.world.store.deliveries.ledger_postgres import PostgresLedger
from postroom.world.store.deliveries.ledger_sqlite import SqliteLedger
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.postgres import PostgresDatabase
from postroom.world.store.engine.sqlite import SqliteDatabase
from postroom.world.store.tables.notifications_log import notifications_log

OK = Outcome(status=AnswerStatus.OK, request_id="request-1", delivery_id=DeliveryId("d-1"))


@dataclass(frozen=True, slots=True)
class Log:
    stored: StoredNotificationsLog
    database: Database
    lost: list[BaseException]

    @property
    def ledger(self) -> SqliteLedger | PostgresLedger:
        database = self.database
        if isinstance(database, SqliteDatabase):
            return SqliteLedger(database)
        assert isinstance(database, PostgresDatabase)
        return PostgresLedger(database)

    async def opened(self, request_id: str = "request-1", channel: object = None, intent: object = None) -> str:
        hop = Hop(request_id=request_id, source_butler="health", caller="butler:health", channel=channel, intent=intent)
        row_id, written = self.stored.opened(hop, now_us=NOON_US)
        await written
        return row_id

    async def row(self) -> dict[str, Any]:
        await self.stored.flush()
        rows = await self.database.read(
            lambda connection: list(connection.execute(select(notifications_log)).mappings())
        )
        [row] = rows
        return dict(row)


@pytest.fixture(params=KINDS)
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Log]:
    async with opened_database(request.param, tmp_path, request) as database:
        lost: list[BaseException] = []
        yield Log(StoredNotificationsLog(database, mint, lost.append), database, lost)


async def test_a_call_is_on_record_before_it_is_answered(log: Log) -> None:
    await log.opened(channel="telegram", intent="send")

    row = await log.row()

    assert (row["source_butler"], row["caller"], row["channel"], row["intent"], row["status"]) == (
        "health",
        "butler:health",
        "telegram",
        "send",
        "received",
    )


async def test_a_row_goes_to_disk_with_the_delivery_it_is_about(log: Log) -> None:
    log.stored.go_along()
    hop = Hop(request_id="r-1", source_butler="health", caller="butler:health", channel=None, intent=None)
    row_id, written = log.stored.opened(hop, now_us=NOON_US)

    assert (await log.ledger.insert(new_delivery(), None)).created
    assert written.done()
    log.stored.closed(row_id, OK, now_us=NOON_US)
    assert (await log.ledger.insert(new_delivery(idempotency_key="another"), None)).created

    row = await log.row()
    assert (row["request_id"], row["status"], row["delivery_id"]) == ("r-1", "ok", "d-1")


async def test_a_row_without_a_delivery_goes_by_itself(log: Log) -> None:
    log.stored.go_along()

    await log.opened(channel="telegram")

    assert (await log.row())["status"] == "received"


async def test_the_answer_completes_the_row(log: Log) -> None:
    row_id = await log.opened(channel="telegram", intent="send")

    log.stored.closed(row_id, OK, now_us=NOON_US + 2500)

    row = await log.row()
    assert (row["status"], row["delivery_id"], row["duration_ms"], row["error_class"]) == ("ok", "d-1", 2.5, None)


async def test_a_refusal_says_why(log: Log) -> None:
    row_id = await log.opened()

    log.stored.closed(row_id, refused(ValidationError("delivery: must be an object")), now_us=NOON_US)

    row = await log.row()
    assert (row["status"], row["error_class"], row["error_message"]) == (
        "error",
        "validation_error",
        "delivery: must be an object",
    )


@pytest.mark.parametrize(
    ("channel", "intent"),
    [(None, None), (5, {"a": 1}), ("\x00", "\ud800"), ("x" * 10_000, None)],
    ids=["nothing", "other types", "unstorable", "too long"],
)
async def test_whatever_came_in_makes_a_row(log: Log, channel: object, intent: object) -> None:
    await log.opened("\x00", channel, intent)

    row = await log.row()

    assert row["channel"] in (None, "x" * 32)
    assert row["request_id"] == ""


@pytest.mark.parametrize("odd", ["\x00", "\ud800"], ids=["NUL", "half a surrogate"])
async def test_a_refusal_that_repeats_something_odd_still_completes_the_row(log: Log, odd: str) -> None:
    row_id = await log.opened()

    log.stored.closed(row_id, refused(ValidationError(f"no channel {odd}")), now_us=NOON_US)

    row = await log.row()
    assert (row["status"], row["error_message"]) == ("error", "no channel " + ascii(odd)[1:-1])


async def test_the_trace_a_call_belongs_to_is_kept(log: Log) -> None:
    tracer = TracerProvider().get_tracer("test")
    with tracer.start_as_current_span("call") as span:
        await log.opened()

    assert (await log.row())["trace_id"] == trace.format_trace_id(span.get_span_context().trace_id)


async def test_a_row_whose_caller_has_hung_up_says_so_as_soon_as_it_is_there(log: Log) -> None:
    """Even when both happen at the same moment: a row is never closed before it is opened."""
    hop = Hop(request_id="r", source_butler="health", caller="butler:health")
    row_id, written = log.stored.opened(hop, now_us=NOON_US)
    log.stored.abandoned(row_id, written, now_us=NOON_US + 1000)
    await written
    await asyncio.sleep(0)

    row = await log.row()
    assert (row["status"], row["duration_ms"]) == ("abandoned", 1.0)


async def test_rows_that_cannot_be_kept_are_counted(log: Log) -> None:
    await log.database.write(notifications_log.drop)
    with pytest.raises(Exception, match=r"notifications_log|not available"):
        await log.opened()

    log.stored.closed("row-1", OK, now_us=NOON_US)
    await log.stored.flush()
    await asyncio.sleep(0)

    assert len(log.lost) == 2
    await log.database.write(notifications_log.create)
