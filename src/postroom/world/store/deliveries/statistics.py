"""Figures over a window of time, counted where the rows are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, case, func, literal_column, not_, select

from postroom.domain.delivery import Status
from postroom.domain.enquiry import GroupBy, TimeRange
from postroom.domain.figures import Depth, Figures
from postroom.world.store.deliveries.correction_rows import was_kept_back
from postroom.world.store.deliveries.queue_depth import depth
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.rows import read
from postroom.world.store.tables.deliveries import delivery_attempts, delivery_requests

_requests = delivery_requests.c
_attempts = delivery_attempts.c
_GROUPS: Final[Mapping[GroupBy, ColumnElement[str]]] = {
    GroupBy.CHANNEL: _requests.channel,
    GroupBy.INTENT: _requests.intent,
    GroupBy.ORIGIN_BUTLER: _requests.origin_butler,
    GroupBy.OUTCOME: _requests.status,
    GroupBy.ERROR_CLASS: func.coalesce(_requests.terminal_error_class, literal_column("'none'")),
}


class StoredFigures:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def depth(self, channel: str | None) -> Depth:
        return await self._database.read(partial(depth, channel=channel))

    async def figures(self, window: TimeRange, group_by: GroupBy | None) -> Mapping[str, Figures]:
        return await self._database.read(partial(figures, window=window, group_by=group_by))


def figures(connection: Connection, window: TimeRange, group_by: GroupBy | None) -> dict[str, Figures]:
    label = _GROUPS[group_by].label("name") if group_by else None
    counts = connection.execute(_counts(window, label)).mappings().all()
    latencies = {_name(row): row for row in connection.execute(_latencies(window, label)).mappings()}
    return {_name(row): _figures(row, latencies.get(_name(row))) for row in counts}


def _counts(window: TimeRange, label: Any) -> Select[Any]:
    """What its sender took back or a person did not let go is no delivery, and nobody's failure."""
    return _grouped(
        [
            func.count().label("deliveries"),
            _counting(_requests.status == str(Status.DELIVERED)).label("delivered"),
            _counting(_requests.status == str(Status.FAILED)).label("failed"),
            _counting(_requests.status == str(Status.DEAD_LETTERED)).label("dead_lettered"),
            _counting(_requests.calls > 0).label("attempted"),
            _counting(_requests.calls > 1).label("retried"),
        ],
        label,
    ).where(_requests.created_at.between(window.since_us, window.until_us), not_(was_kept_back()))


def _latencies(window: TimeRange, label: Any) -> Select[Any]:
    """
    Nearest rank over the attempts themselves: the smallest latency that at least
    so many per cent of them do not exceed. Always one that really happened.
    """
    partition = [label.element] if label is not None else []
    ranked = (
        select(
            *([label] if label is not None else []),
            _attempts.latency_ms,
            func.row_number().over(partition_by=partition, order_by=_attempts.latency_ms).label("place"),
            func.count().over(partition_by=partition).label("many"),
        )
        .select_from(delivery_requests)
        .join(delivery_attempts, _attempts.delivery_request_id == _requests.id)
        .where(_requests.created_at.between(window.since_us, window.until_us))
        .subquery()
    )
    return _grouped(
        [
            func.count().label("attempts"),
            *(
                func.max(case((ranked.c.place == (ranked.c.many * rank + 99) // 100, ranked.c.latency_ms))).label(name)
                for name, rank in (("p50", 50), ("p95", 95))
            ),
        ],
        ranked.c.name if label is not None else None,
    ).select_from(ranked)


def _grouped(columns: list[Any], label: Any) -> Select[Any]:
    return select(*columns) if label is None else select(label, *columns).group_by(label)


def _counting(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)


def _name(row: RowMapping) -> str:
    return str(row.get("name", ""))


def _figures(counts: RowMapping, latencies: RowMapping | None) -> Figures:
    return read(
        Figures,
        counts,
        attempts=latencies["attempts"] if latencies else 0,
        p50_latency_ms=latencies["p50"] if latencies else None,
        p95_latency_ms=latencies["p95"] if latencies else None,
    )
