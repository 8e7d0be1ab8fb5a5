"""Circuits, buckets and figures in the words that callers read, and as sums over the rows."""

from __future__ import annotations

import math
import random
import re
from collections import defaultdict
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import Connection, false, text
from tests.clock import START_US
from tests.support.delivery_rows import NOON_US, attempt_row, request_row, write

from postroom.approvals.store.tables import was_refused
from postroom.delivery.reading.counts import (
    Depth,
    Detail,
    Figures,
    StoredFigures,
    Stretch,
    bucket_status,
    circuit_status,
    reported,
    summary,
)
from postroom.delivery.reading.file import GroupBy, TimeRange
from postroom.delivery.rules.breaker import BreakerPolicy, Circuit, CircuitState, Report, acquire, as_of, report
from postroom.delivery.rules.limits import Headroom, LimitType
from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import SECOND_US

POLICY = BreakerPolicy(failure_threshold=2, recovery_seconds=60)


def failed(times: int, now_us: int = START_US) -> Circuit:
    circuit = Circuit()
    for _ in range(times):
        circuit, permit = acquire(circuit, POLICY, "telegram", "token", now_us)
        circuit = report(circuit, POLICY, permit, Report.FAILURE, now_us, reason="said 502", error_class="timeout")
    return circuit


@pytest.mark.requirement("messenger:circuit-status-visibility")
def test_a_closed_circuit_that_has_failed_has_not_tripped() -> None:
    told = circuit_status(failed(1), POLICY, START_US)

    assert (told["state"], told["consecutive_failures"], told["trip_reason"]) == ("closed", 1, None)
    assert (told["last_error_message"], told["trip_timestamp"], told["retry_after_seconds"]) == ("said 502", None, None)


@pytest.mark.requirement("messenger:circuit-status-visibility")
def test_an_open_circuit_counts_down_and_then_is_half_open() -> None:
    opened = failed(2)
    early, late = START_US + 20 * SECOND_US, START_US + 61 * SECOND_US

    told = circuit_status(as_of(opened, POLICY, early), POLICY, early)
    later = circuit_status(as_of(opened, POLICY, late), POLICY, late)

    assert (told["state"], told["retry_after_seconds"], told["trip_reason"]) == ("open", 40.0, "said 502")
    assert told["trip_timestamp"] == "2026-01-01T00:00:00.000000Z"
    assert (later["state"], later["retry_after_seconds"]) == ("half-open", None)


@pytest.mark.requirement("messenger:circuit-status-visibility")
def test_a_half_open_circuit_shows_its_probes() -> None:
    now = START_US + 61 * SECOND_US
    circuit, permit = acquire(failed(2), POLICY, "telegram", "first", now)
    circuit, _ = acquire(circuit, POLICY, "telegram", "second", now)
    circuit = report(circuit, POLICY, permit, Report.SUCCESS, now)

    told = circuit_status(circuit, POLICY, now)

    assert circuit.state is CircuitState.HALF_OPEN
    assert (told["half_open_probes_running"], told["half_open_successes"]) == (1, 1)


def test_a_bucket_says_what_was_taken_and_when_it_is_full_again() -> None:
    assert bucket_status(Headroom(LimitType.GLOBAL, "global", 60, 45.5)) == {
        "capacity": 60,
        "available": 45.5,
        "consumed": 14.5,
        "refill_rate": 1.0,
        "window_reset_seconds": 14.5,
    }


@pytest.mark.requirement("messenger:delivery-statistics")
def test_rates_are_over_what_is_finished_and_what_was_attempted() -> None:
    figures = Figures(deliveries=10, delivered=6, failed=1, dead_lettered=1, attempted=9, retried=3, attempts=14)

    told = summary(figures)

    assert (told["success_rate"], told["retry_rate"], told["unfinished_count"]) == (0.75, 0.3333, 2)


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

    assert await StoredFigures(database, was_refused()).depth(None) == Depth(
        counts={("telegram", "pending"): 2, ("email", "in_progress"): 1}, oldest_created_at_us=NOON_US + 4
    )
    assert await StoredFigures(database, was_refused()).depth("telegram") == Depth(
        counts={("telegram", "pending"): 2}, oldest_created_at_us=NOON_US + 5
    )


@pytest.mark.parametrize("channel", [None, "telegram"])
async def test_ten_thousand_finished_deliveries_are_not_read(database: Database, channel: str | None) -> None:
    await write(database, [request_row(NOON_US + n) for n in range(10_000)])

    def plan(connection: Connection) -> str:
        on_postgres = connection.dialect.name == "postgresql"
        connection.execute(text("ANALYZE messenger.delivery_requests" if on_postgres else "ANALYZE"))
        open_now = [Stretch(is_open=True, channel=channel)]
        statement = reported(open_now, (GroupBy.CHANNEL, GroupBy.OUTCOME), Detail.OUTCOMES, false()).compile(
            connection, compile_kwargs={"literal_binds": True, "render_postcompile": True}
        )
        asked = f"EXPLAIN {statement}" if on_postgres else f"EXPLAIN QUERY PLAN {statement}".replace("messenger.", "")
        return "\n".join(str(tuple(row)) for row in connection.exec_driver_sql(asked))

    told = await database.write(plan)

    by_key = "SEARCH delivery_requests USING INDEX ix_delivery_requests_channel_status_id (channel=? AND status=?)"
    assert re.search(r"ix_delivery_requests_(order|due|wake|lease)", told) or by_key in told, told


# -- figures from rows: held against the same sums done by hand, on both databases -----------------------------

ALWAYS = TimeRange(since_us=0, until_us=2**60)
COLUMN = {
    GroupBy.CHANNEL: "channel",
    GroupBy.INTENT: "intent",
    GroupBy.ORIGIN_BUTLER: "origin_butler",
    GroupBy.OUTCOME: "status",
    GroupBy.ERROR_CLASS: "terminal_error_class",
}


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
    record = StoredFigures(database, was_refused())

    assert await record.figures(ALWAYS, None) == {"": by_hand(requests, attempts)}
    for group_by, column in COLUMN.items():
        groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for one in requests:
            groups[one[column] or "none"].append(one)
        expected = {name: by_hand(members, attempts) for name, members in groups.items()}
        assert await record.figures(ALWAYS, group_by) == expected, group_by


async def test_stretches_sorted_by_several_things_at_once_are_each_what_their_rows_add_up_to(
    database: Database,
) -> None:
    requests, attempts = a_busy_day(random.Random(7), 200)
    await write(database, requests, attempts)
    edges, by = (
        (NOON_US, NOON_US + 100_000, NOON_US + 200_000),
        (GroupBy.CHANNEL, GroupBy.ORIGIN_BUTLER, GroupBy.OUTCOME),
    )

    found = await StoredFigures(database, was_refused()).report(
        [Stretch(since_us=since_us, until_us=until_us) for since_us, until_us in pairwise(edges)], by
    )

    cells: dict[tuple[object, ...], list[dict[str, Any]]] = defaultdict(list)
    for one in requests:
        since_us = max(edge for edge in edges if edge <= one["created_at"])
        cells[since_us, one["channel"], one["origin_butler"], one["status"]].append(one)
    expected = {cell: by_hand(members, attempts) for cell, members in cells.items()}
    assert {(one.stretch.since_us, *one.names): one.figures for one in found} == expected


@pytest.mark.requirement("messenger:delivery-statistics")
async def test_percentiles_are_over_attempts_and_not_over_averages(database: Database) -> None:
    slow, quick = request_row(), request_row()
    attempts = [attempt_row(quick, n, 10.0) for n in range(1, 100)] + [attempt_row(slow, 1, 5000.0)]
    await write(database, [slow, quick], attempts)

    (figures,) = (await StoredFigures(database, was_refused()).figures(ALWAYS, None)).values()

    assert (figures.p50_latency_ms, figures.p95_latency_ms, figures.attempts) == (10.0, 10.0, 100)


async def test_both_ends_belong_to_the_window(database: Database) -> None:
    rows = [request_row(NOON_US + n) for n in range(5)]
    await write(database, rows, [attempt_row(one, 1, 1.0) for one in rows])
    window = TimeRange(since_us=NOON_US + 1, until_us=NOON_US + 3)

    (figures,) = (await StoredFigures(database, was_refused()).figures(window, None)).values()

    assert (figures.deliveries, figures.attempts) == (3, 3)
