"""How well deliveries went over time, from a bounded number of them per stretch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Subquery, case, func, literal, select, union_all

from postroom.domain.approval import ActionStatus
from postroom.domain.delivery import TERMINAL, Status
from postroom.domain.ids import first_id_at
from postroom.domain.overview import Slice, Took
from postroom.world.store.deliveries.correction_rows import was_kept_back
from postroom.world.store.tables.approvals import pending_actions
from postroom.world.store.tables.deliveries import delivery_attempts, delivery_requests

_requests = delivery_requests.c
_attempts = delivery_attempts.c
Span = tuple[int, int]
_MOST_ARRIVALS = 500


def series(connection: Connection, edges_us: Sequence[int], most: int) -> list[Slice]:
    """
    An id is a time, so a stretch of time is a stretch of the primary key.

    The newest of a stretch stand side by side in it, and so do their attempts:
    both are read as ranges, whatever else the tables hold.
    """
    spans = list(pairwise(edges_us))
    newest = _by_place(connection, [_outcomes(place, span, most) for place, span in enumerate(spans)])
    calls = [
        _latencies(place, str(newest[place].lowest), span)
        for place, span in enumerate(spans)
        if newest[place].lowest is not None
    ]
    ranked = _by_place(connection, calls)
    return [_slice(span, newest[place], ranked.get(place)) for place, span in enumerate(spans)]


def arrivals(connection: Connection, since_us: int, until_us: int) -> list[Took]:
    """Accepted, or approved where it waited for a person, until the provider had it: of the newest."""
    newest = (
        select(_requests.id, _requests.channel, _requests.status, _requests.created_at, _requests.terminal_at)
        .where(_requests.id >= first_id_at(since_us), _requests.id < first_id_at(until_us))
        .order_by(_requests.id.desc())
        .limit(_MOST_ARRIVALS)
        .subquery("newest")
    )
    decided = pending_actions.c
    began = func.coalesce(decided.decided_at, newest.c.created_at).label("began_at")
    arrived = (
        select(newest, began)
        .outerjoin(pending_actions, decided.id == newest.c.id)
        .where(newest.c.status == str(Status.DELIVERED), newest.c.terminal_at.is_not(None))
    )
    return [
        Took(channel=row.channel, milliseconds=(row.terminal_at - row.began_at) / 1000)
        for row in connection.execute(arrived)
    ]


def decided(connection: Connection, since_us: int) -> list[float]:
    """For how many milliseconds each waited for a person who then said yes or no: of the newest."""
    actions = pending_actions.c
    newest = (
        select(actions.requested_at, actions.decided_at)
        .where(actions.id >= first_id_at(since_us), actions.decided_at.is_not(None))
        .where(actions.approval_rule_id.is_(None), actions.status != str(ActionStatus.EXPIRED))
        .order_by(actions.id.desc())
        .limit(_MOST_ARRIVALS)
    )
    return [(row.decided_at - row.requested_at) / 1000 for row in connection.execute(newest)]


def _by_place(connection: Connection, statements: Sequence[Select[Any]]) -> Mapping[int, Any]:
    if not statements:
        return {}
    return {row.place: row for row in connection.execute(union_all(*statements))}


def _outcomes(place: int, span: Span, most: int) -> Select[Any]:
    newest = (
        select(_requests.id, case((was_kept_back(), None), else_=_requests.status).label("status"))
        .where(_requests.id >= first_id_at(span[0]), _requests.id < first_id_at(span[1]))
        .order_by(_requests.id.desc())
        .limit(most)
        .subquery()
    )
    columns: list[ColumnElement[Any]] = [
        literal(place).label("place"),
        func.count().label("looked_at"),
        _counting(newest.c.status == str(Status.DELIVERED)).label("delivered"),
        _counting(newest.c.status.in_([str(one) for one in sorted(TERMINAL)])).label("ended"),
        func.min(newest.c.id).label("lowest"),
    ]
    return select(*columns).select_from(newest)


def _latencies(place: int, lowest: str, span: Span) -> Select[Any]:
    calls = (
        select(
            _attempts.latency_ms,
            func.row_number().over(order_by=_attempts.latency_ms).label("rank"),
            func.count().over().label("many"),
        )
        .where(_attempts.delivery_request_id >= lowest, _attempts.delivery_request_id < first_id_at(span[1]))
        .subquery()
    )
    columns: list[ColumnElement[Any]] = [
        literal(place).label("place"),
        _nearest_rank(calls, 50).label("p50"),
        _nearest_rank(calls, 95).label("p95"),
    ]
    return select(*columns).select_from(calls)


def _slice(span: Span, outcomes: Any, latencies: Any) -> Slice:
    return Slice(
        since_us=span[0],
        until_us=span[1],
        looked_at=outcomes.looked_at,
        delivered=outcomes.delivered,
        ended=outcomes.ended,
        p50_ms=latencies.p50 if latencies else None,
        p95_ms=latencies.p95 if latencies else None,
    )


def _nearest_rank(calls: Subquery, percent: int) -> ColumnElement[Any]:
    """Always a latency that really happened."""
    return func.max(case((calls.c.rank == (calls.c.many * percent + 99) // 100, calls.c.latency_ms)))


def _counting(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)
