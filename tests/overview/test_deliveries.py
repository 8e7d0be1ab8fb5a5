"""What may leave the ledger, what must stay, and what is still known of what has left."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, func, insert, select
from tests.opened_database import KINDS, ledger_of, opened_database
from tests.support.delivery_rows import NOON_US, attempt_row, new_id, request_row

from postroom.approvals.store.tables import pending_actions
from postroom.delivery.files.taking import DAY_US
from postroom.delivery.store.tables import (
    delivery_attempts,
    delivery_dead_letter,
    delivery_news,
    delivery_receipts,
    delivery_requests,
)
from postroom.intents.store import intents
from postroom.kernel.database.engine import Database
from postroom.overview.pruning import START, count, remove
from postroom.overview.story import StoredDeliveries

OLD_US = NOON_US - 100 * DAY_US
CUTOFF_US = NOON_US - 90 * DAY_US


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as one:
        yield one


def settled(status: str = "delivered", at_us: int = OLD_US, **more: Any) -> dict[str, Any]:
    return request_row(at_us, status=status, terminal_at=at_us + 1, **more)


def letter(request: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": new_id(),
        "delivery_request_id": request["id"],
        "quarantine_reason": "retries_exhausted",
        "error_class": "target_unavailable",
        "error_summary": "no answer",
        "total_attempts": 3,
        "replay_count": 0,
        "discarded_at": None,
        "discard_reason": None,
        "created_at": request["created_at"],
        **more,
    }


def intent(request: dict[str, Any], status: str) -> dict[str, Any]:
    texts = ("intent_type", "correlation_id", "from_agent", "to_agent", "handler", "fingerprint", "submitted_by")
    return {
        "id": request["request_id"],
        **dict.fromkeys(texts, "x"),
        **dict.fromkeys(("payload", "metadata", "plan"), "{}"),
        "status": status,
        "seq": 1,
        "position": 0,
        "carried": False,
        "created_at": OLD_US,
        "updated_at": OLD_US,
    }


async def write(database: Database, *rows: tuple[Any, list[dict[str, Any]]]) -> None:
    def work(connection: Connection) -> None:
        for table, values in rows:
            connection.execute(insert(table), values)

    await database.write(work)


async def prune(database: Database, limit: int = 100) -> int:
    removed = await database.write(partial(remove, settled_before_us=CUTOFF_US, limit=limit, after=START))
    return removed.deliveries


async def ids_in(database: Database, table: Any) -> set[str]:
    return await database.read(lambda connection: set(connection.execute(select(table.c.id)).scalars()))


@pytest.mark.parametrize("status", ["delivered", "failed"])
async def test_what_is_settled_and_old_goes(database: Database, status: str) -> None:
    old, young = settled(status), settled(status, at_us=NOON_US)
    await write(database, (delivery_requests, [old, young]))

    assert await database.read(partial(count, settled_before_us=CUTOFF_US)) == 1
    assert await prune(database) == 1
    assert await ids_in(database, delivery_requests) == {young["id"]}


@pytest.mark.parametrize("status", ["awaiting_approval", "pending", "in_progress"])
async def test_what_is_not_settled_stays_however_old(database: Database, status: str) -> None:
    await write(database, (delivery_requests, [request_row(OLD_US, status=status)]))

    assert await prune(database) == 0


async def test_what_was_made_long_ago_and_settled_lately_stays(database: Database) -> None:
    await write(database, (delivery_requests, [request_row(OLD_US, terminal_at=NOON_US)]))

    assert await prune(database) == 0


@pytest.mark.parametrize(
    ("discarded_at", "goes"), [(None, 0), (NOON_US, 0), (OLD_US + 5, 1)], ids=["undecided", "lately", "long ago"]
)
async def test_a_dead_letter_goes_only_when_it_was_discarded_long_ago(
    database: Database, discarded_at: int | None, goes: int
) -> None:
    dead = settled("dead_lettered")
    await write(
        database, (delivery_requests, [dead]), (delivery_dead_letter, [letter(dead, discarded_at=discarded_at)])
    )

    assert await prune(database) == goes


@pytest.mark.parametrize(
    ("replayed", "goes"),
    [
        ({"status": "delivered"}, 2),
        ({"status": "delivered", "at_us": NOON_US}, 0),
        ({"status": "failed"}, 0),
        ({"status": "dead_lettered"}, 0),
    ],
    ids=["arrived", "arrived lately", "refused", "dead again"],
)
async def test_a_lineage_goes_as_a_whole_or_stays_as_a_whole(
    database: Database, replayed: dict[str, Any], goes: int
) -> None:
    dead = settled("dead_lettered")
    replay = settled(**replayed, replay_of=dead["id"], replay_number=1)
    letters = [letter(one) for one in (dead, replay) if one["status"] == "dead_lettered"]
    await write(database, (delivery_requests, [dead, replay]), (delivery_dead_letter, letters))

    assert await database.read(partial(count, settled_before_us=CUTOFF_US)) == goes
    assert await prune(database) == goes


async def test_a_replay_on_its_way_keeps_its_parent(database: Database) -> None:
    dead = settled("dead_lettered")
    replay = request_row(NOON_US, status="pending", replay_of=dead["id"], replay_number=1)
    discarded = letter(dead, discarded_at=OLD_US + 5)
    await write(database, (delivery_requests, [dead, replay]), (delivery_dead_letter, [discarded]))

    assert await prune(database) == 0


@pytest.mark.parametrize(("status", "goes"), [("IN_PROGRESS", 0), ("COMPLETED", 1)])
async def test_a_message_whose_answer_is_still_awaited_stays(database: Database, status: str, goes: int) -> None:
    question = settled(origin_butler="intents")
    await write(database, (delivery_requests, [question]), (intents, [intent(question, status)]))

    assert await prune(database) == goes


async def test_nothing_is_left_of_what_hung_on_it(database: Database) -> None:
    row = settled(request_id="r-1", provider_delivery_id="77")
    receipt = {
        "delivery_request_id": row["id"],
        "part": 1,
        "provider_delivery_id": "77",
        "receipt_type": "sent",
        "received_at": OLD_US,
        "conversation": "D1",
    }
    news = {"delivery_request_id": row["id"], "kind": "bounced", "event_id": "e", "words": "full", "at": OLD_US}
    await write(
        database,
        (delivery_requests, [row]),
        (delivery_attempts, [attempt_row(row, 1, 2.0, "retryable_error"), attempt_row(row, 2, 1.0)]),
        (delivery_receipts, [receipt]),
        (delivery_news, [news]),
        (pending_actions, [approval(row)]),
    )

    assert await prune(database) == 1

    assert await StoredDeliveries(database).delivery(row["id"]) is None
    for table in (delivery_attempts, delivery_receipts, delivery_news, pending_actions):
        left = select(func.count()).select_from(table)
        assert await database.read(lambda connection, left=left: connection.execute(left).scalar()) == 0


def approval(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": row["id"],
        "origin_butler": row["origin_butler"],
        "content_hash": "h",
        "risk": "medium",
        "status": "approved",
        "requested_at": OLD_US,
        "expires_at": OLD_US,
        "edited": False,
    }


async def test_a_key_goes_with_its_delivery(database: Database) -> None:
    await write(database, (delivery_requests, [settled(idempotency_key="bell", provider_delivery_id="77")]))

    assert await prune(database) == 1

    assert await ledger_of(database).find("bell") is None


async def test_batches_go_on_where_the_last_one_stopped(database: Database) -> None:
    rows = [settled(at_us=OLD_US + n // 3) for n in range(10)]
    held = settled("dead_lettered")
    await write(database, (delivery_requests, [*rows, held]), (delivery_dead_letter, [letter(held)]))

    sizes, place = list[int](), START
    while place is not None:
        removed = await database.write(partial(remove, settled_before_us=CUTOFF_US, limit=4, after=place))
        sizes.append(removed.deliveries)
        place = removed.place

    assert sizes == [4, 4, 2]
    assert await ids_in(database, delivery_requests) == {held["id"]}
