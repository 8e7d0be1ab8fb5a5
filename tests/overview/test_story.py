"""A dry run meets the same channel as the real one, and survives it as well."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert
from tests.approvals.parked import deciding_desk
from tests.clock import FakeClock
from tests.delivery.world import Parts, generous, living_world
from tests.opened_database import opened_file
from tests.support.delivery_rows import NOON_US, attempt_row, request_row, write
from tests.support.query_plans import query_plans

from postroom.approvals.model import ActionStatus
from postroom.delivery.reading.file import DeliveryQuery, RowPage
from postroom.delivery.rules.breaker import CircuitState
from postroom.delivery.store.tables import circuit_states
from postroom.kernel.database.engine import Database
from postroom.kernel.values.principal import Principal, Role
from postroom.message.delivery import Message
from postroom.overview.story import ids_with_prefix, note, recent_ids, surroundings
from postroom.overview.tracking import DryRun, StoredDeliveries, Tracking, search
from postroom.overview.why import ApprovalStanding, Around


async def test_a_channel_that_stumbles_is_told_without_the_words_it_stumbled_over(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(message: Message) -> Sequence[Any]:
        raise RuntimeError(message.text)

    async with living_world(tmp_path / "p.db", clock, Parts(policy=generous())) as world:
        monkeypatch.setattr(world.telegram, "prepare", stumble)
        path = world.plane.acceptance
        dry_run = DryRun(acceptance=path, known_channels=world.plane.known_channels, clock=clock, mint=path.mint)
        delivery = {"intent": "send", "channel": "telegram", "message": "a secret", "recipient": "1000"}

        told = await dry_run.run({"schema_version": "notify.v1", "origin_butler": "health", "delivery": delivery})

        assert told["would_be_admitted"] is False
        assert told["refusal"]["class"] == "internal_error"
        assert "secret" not in str(told)
        assert [type(bug) for bug in world.tally.bugs] == [RuntimeError]


async def around(database: Database, row: dict[str, Any]) -> Around:
    return await database.read(partial(surroundings, delivery_id=row["id"], channel=row["channel"]))


async def test_only_open_deliveries_to_the_same_address_that_came_before_are_ahead(database: Database) -> None:
    same = {"order_key": "telegram:1000"}
    before = [request_row(NOON_US + place, status=status, **same) for place, status in enumerate(STATUSES)]
    asked = request_row(NOON_US + 10, status="pending", **same)
    others = [request_row(NOON_US, status="pending"), request_row(NOON_US + 11, status="pending", **same)]
    await write(database, [*before, asked, *others])

    assert (await around(database, asked)).ahead == 2


STATUSES = ("pending", "in_progress", "delivered", "failed", "awaiting_approval")


async def test_without_approval_and_trouble_there_is_nothing_to_tell(database: Database) -> None:
    row = request_row()
    await write(database, [row])

    assert await around(database, row) == Around(ahead=0)


async def test_an_approval_and_a_circuit_stand_around_a_delivery(database: Database) -> None:
    desk = deciding_desk(database, FakeClock(NOON_US))
    parked = await desk.park(parking={"expires_at_us": NOON_US + 1_000_000})
    await desk.approvals.reject(Principal(Role.USER, "ada"), parked.id, "not today")
    circuit = {"channel": "telegram", "state": "open", "failures": 5, "opened_at": NOON_US, "generation": 1}
    circuit |= {"reason": "503", "error_class": "target_unavailable", "updated_at": NOON_US}
    await database.write(lambda connection: connection.execute(insert(circuit_states), circuit))

    found = await around(database, {"id": parked.id, "channel": "telegram"})

    assert found.approval == ApprovalStanding(
        status=ActionStatus.REJECTED,
        expires_at_us=NOON_US + 1_000_000,
        decided_by="user:ada",
        decided_at_us=NOON_US,
        reason="not today",
    )
    assert found.circuit is not None
    assert (found.circuit.state, found.circuit.failures, found.circuit.reason) == (CircuitState.OPEN, 5, "503")


async def test_the_newest_ids_come_first_and_are_bounded(database: Database) -> None:
    rows = [request_row(NOON_US + place) for place in range(3)]
    await write(database, rows)

    found = await database.read(partial(recent_ids, limit=2))

    assert found == [rows[2]["id"], rows[2]["request_id"], rows[1]["id"], rows[1]["request_id"]]


async def test_what_is_no_note_is_none(database: Database) -> None:
    assert await database.read(partial(note, notification_id="01a1")) is None


async def test_a_million_others_are_not_read_to_count_those_ahead(tmp_path: Path) -> None:
    async with opened_file(tmp_path) as database:
        with query_plans(database) as steps:
            await around(database, request_row())

    assert any("ix_delivery_requests_order (order_key=? AND origin_butler=? AND id<?)" in step for step in steps), steps


# -- Ids that begin alike are found in both databases, wherever they are kept --


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


# -- Searching the ledger: filters, order, and pages over very many rows --


@pytest.mark.requirement("messenger:delivery-search")
async def test_rows_of_one_moment_keep_their_order_over_pages(database: Database) -> None:
    rows = [request_row(NOON_US) for _ in range(30)]
    await write(database, rows)
    seen: list[str] = []
    before = None
    for _ in range(4):
        found = await database.read(partial(search, query=DeliveryQuery(page=RowPage(limit=8, before=before))))
        seen += [one.delivery_id for one in found[:8]]
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

    assert await record.attempts(waiting["id"]) == ()
    assert [one.attempt_number for one in await record.attempts(tried["id"]) or ()] == [1, 2]
    assert await record.attempts("unknown") is None
    assert await record.now("unknown") is None
    status = await Tracking(record=record, channel_names=frozenset()).status(waiting["id"])
    assert (status["latest_attempt"], status["next_attempt_at"]) == (None, "2026-01-01T12:00:00.000000Z")
