"""How well deliveries went over time, from a bounded number of them per stretch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sqlalchemy import Connection, select

from postroom.domain.delivery import TERMINAL, Status
from postroom.domain.ids import first_id_at
from postroom.domain.overview import Slice
from postroom.store.tables.deliveries import delivery_attempts, delivery_requests

_requests = delivery_requests.c
_attempts = delivery_attempts.c


def series(connection: Connection, edges_us: Sequence[int], most: int) -> list[Slice]:
    return [_slice(connection, since_us, until_us, most) for since_us, until_us in pairwise(edges_us)]


def _slice(connection: Connection, since_us: int, until_us: int, most: int) -> Slice:
    """An id is a time, so the primary key finds the newest of a stretch without counting the others."""
    newest = (
        select(_requests.id, _requests.status)
        .where(_requests.id >= first_id_at(since_us), _requests.id < first_id_at(until_us))
        .order_by(_requests.id.desc())
        .limit(most)
        .subquery()
    )
    calls = select(newest.c.id, newest.c.status, _attempts.latency_ms).join(
        delivery_attempts, _attempts.delivery_request_id == newest.c.id, isouter=True
    )
    rows = connection.execute(calls).all()
    statuses = {row.id: Status(row.status) for row in rows}
    latencies = sorted(row.latency_ms for row in rows if row.latency_ms is not None)
    return Slice(
        since_us=since_us,
        until_us=until_us,
        looked_at=len(statuses),
        delivered=sum(one is Status.DELIVERED for one in statuses.values()),
        ended=sum(one in TERMINAL for one in statuses.values()),
        p50_ms=_nearest_rank(latencies, 50),
        p95_ms=_nearest_rank(latencies, 95),
    )


def _nearest_rank(ordered: Sequence[float], percent: int) -> float | None:
    """Always a latency that really happened."""
    return ordered[(len(ordered) * percent + 99) // 100 - 1] if ordered else None
