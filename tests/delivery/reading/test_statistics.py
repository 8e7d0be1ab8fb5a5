"""Figures from rows: held against the same sums done by hand, on both databases."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.opened_database import KINDS, opened_database
from tests.support.delivery_rows import NOON_US, attempt_row, request_row, write

from postroom.delivery.reading.counts import Figures, StoredFigures
from postroom.delivery.reading.file import GroupBy, TimeRange
from postroom.kernel.database.engine import Database

ALWAYS = TimeRange(since_us=0, until_us=2**60)
COLUMN = {
    GroupBy.CHANNEL: "channel",
    GroupBy.INTENT: "intent",
    GroupBy.ORIGIN_BUTLER: "origin_butler",
    GroupBy.OUTCOME: "status",
    GroupBy.ERROR_CLASS: "terminal_error_class",
}


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as one:
        yield one


def by_hand(requests: list[dict[str, Any]], attempts: list[dict[str, Any]]) -> Figures:
    ids = {one["id"] for one in requests}
    latencies = sorted(one["latency_ms"] for one in attempts if one["delivery_request_id"] in ids)
    statuses = [one["status"] for one in requests]
    return Figures(
        deliveries=len(requests),
        delivered=statuses.count("delivered"),
        failed=statuses.count("failed"),
        dead_lettered=statuses.count("dead_lettered"),
        attempted=sum(one["calls"] > 0 for one in requests),
        retried=sum(one["calls"] > 1 for one in requests),
        attempts=len(latencies),
        p50_latency_ms=nearest_rank(latencies, 50),
        p95_latency_ms=nearest_rank(latencies, 95),
    )


def nearest_rank(ordered: list[float], rank: int) -> float | None:
    return ordered[math.ceil(len(ordered) * rank / 100) - 1] if ordered else None


def a_busy_day(dice: random.Random, many: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    requests, attempts = [], []
    for n in range(many):
        calls = dice.choice([0, 1, 1, 1, 2, 3])
        status = dice.choice(["delivered", "failed", "dead_lettered"]) if calls else "pending"
        request = request_row(
            NOON_US + n * 1000,
            channel=dice.choice(["telegram", "email"]),
            intent=dice.choice(["send", "reply", "react"]),
            origin_butler=dice.choice(["health", "general", "messenger"]),
            status=status,
            calls=calls,
            terminal_error_class=dice.choice(["timeout", "validation_error"]) if status == "failed" else None,
        )
        requests.append(request)
        attempts += [
            attempt_row(request, number + 1, dice.choice([1.5, 20.0, 20.0, 340.25, 9.0])) for number in range(calls)
        ]
    return requests, attempts


@pytest.mark.requirement("messenger:delivery-statistics")
@pytest.mark.parametrize("many", [1, 2, 19, 20, 21, 300])
async def test_totals_and_groups_are_what_the_rows_add_up_to(database: Database, many: int) -> None:
    requests, attempts = a_busy_day(random.Random(many), many)
    await write(database, requests, attempts)
    record = StoredFigures(database)

    assert await record.figures(ALWAYS, None) == {"": by_hand(requests, attempts)}
    for group_by, column in COLUMN.items():
        groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for one in requests:
            groups[one[column] or "none"].append(one)
        expected = {name: by_hand(members, attempts) for name, members in groups.items()}
        assert await record.figures(ALWAYS, group_by) == expected, group_by


@pytest.mark.requirement("messenger:delivery-statistics")
async def test_percentiles_are_over_attempts_and_not_over_averages(database: Database) -> None:
    slow, quick = request_row(), request_row()
    attempts = [attempt_row(quick, n, 10.0) for n in range(1, 100)] + [attempt_row(slow, 1, 5000.0)]
    await write(database, [slow, quick], attempts)

    (figures,) = (await StoredFigures(database).figures(ALWAYS, None)).values()

    assert (figures.p50_latency_ms, figures.p95_latency_ms, figures.attempts) == (10.0, 10.0, 100)


async def test_both_ends_belong_to_the_window(database: Database) -> None:
    rows = [request_row(NOON_US + n) for n in range(5)]
    await write(database, rows, [attempt_row(one, 1, 1.0) for one in rows])
    window = TimeRange(since_us=NOON_US + 1, until_us=NOON_US + 3)

    (figures,) = (await StoredFigures(database).figures(window, None)).values()

    assert (figures.deliveries, figures.attempts) == (3, 3)


async def test_an_empty_window_counts_nothing(database: Database) -> None:
    record = StoredFigures(database)

    assert await record.figures(ALWAYS, None) == {"": Figures()}
    assert await record.figures(ALWAYS, GroupBy.CHANNEL) == {}
