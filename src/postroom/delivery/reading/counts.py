"""What the record adds up to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    Subquery,
    case,
    func,
    literal_column,
    not_,
    select,
    text,
)

from postroom.delivery.afterwards.store import was_kept_back
from postroom.delivery.reading.file import GroupBy, TimeRange, read_choice, read_span
from postroom.delivery.rules.breaker import BreakerPolicy, Circuit, CircuitState, remaining_us
from postroom.delivery.rules.limits import SCOPE, SCOPES, Admission, Headroom, LimitPolicy, LimitType, Tier
from postroom.delivery.rules.policy import DeliveryPolicy
from postroom.delivery.seams import Breakers, Limits
from postroom.delivery.store.tables import delivery_attempts, delivery_requests
from postroom.kernel.database.engine import Database
from postroom.kernel.database.rows import read
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import SECOND_US, seconds, to_text
from postroom.message.delivery import Status

MOST_COUNTED: Final = 100_000  # a person reads "more than 100,000" as well as any figure above it
_DEFAULT_WINDOW_SECONDS: Final = 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """What is not yet decided, by channel and status, and since when the oldest waits."""

    counts: Mapping[tuple[str, str], int]
    oldest_created_at_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Counts over deliveries, percentiles over attempts."""

    deliveries: int = 0
    delivered: int = 0
    failed: int = 0
    dead_lettered: int = 0
    attempted: int = 0
    retried: int = 0
    attempts: int = 0
    p50_latency_ms: float | None = None
    p95_latency_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """One channel over a window of time; a count above MOST_COUNTED stands for "more than that"."""

    channel: str
    counts: Mapping[Status, int]
    last_delivered_at_us: int | None

    def count(self, status: Status) -> int:
        return self.counts.get(status, 0)

    @property
    def success_rate(self) -> float | None:
        """Of those that have ended; None when none has, or when there were too many to count."""
        ended = [self.count(one) for one in (Status.DELIVERED, Status.FAILED, Status.DEAD_LETTERED)]
        if not any(ended) or max(ended) > MOST_COUNTED:
            return None
        return ended[0] / sum(ended)


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """How long one delivery took to arrive."""

    channel: str
    milliseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterCounts:
    """Dead letters that nobody has replayed or discarded; `held` are those whose outcome is unknown."""

    given_up: int
    held: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A stretch of time, seen through at most so many of its deliveries; latencies are of single calls."""

    since_us: int
    until_us: int
    looked_at: int
    delivered: int
    ended: int
    p50_ms: float | None
    p95_ms: float | None

    @property
    def success_rate(self) -> float | None:
        return self.delivered / self.ended if self.ended else None


# -- How the delivery plane is doing: circuits, limits, what is in flight, and figures over time ---


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryHealth:
    record: StoredFigures
    limits: Limits
    breakers: Breakers
    policy: DeliveryPolicy
    channels: Collection[str]
    channel_names: frozenset[str]
    clock: Clock

    async def circuits(self, channel: object = None) -> dict[str, object]:
        told = {}
        for name in self._channels(channel):
            circuit = await self.breakers.circuit(name)
            told[name] = {"configured": name in self.channels} | circuit_status(
                circuit, self.policy.breaker, self.clock.now_us()
            )
        return {"circuits": told}

    async def rate_limits(self, channel: object = None, identity_scope: object = None) -> dict[str, object]:
        """One look at all buckets at the same moment; nothing is taken from any."""
        names = self._channels(channel)
        scope = read_choice(identity_scope, "identity_scope", SCOPES)
        tiers = [Tier(LimitType.GLOBAL, "global", self.policy.limits.global_per_minute)]
        tiers += _channel_tiers(self.policy.limits, names, scope)
        asked = Admission(lease_id="", channel="", tiers=tuple(tiers), cost_millis=0)
        seen = await self.limits.admit(asked, consume=False)
        throttles = await self.limits.throttles()
        return {
            "global": bucket_status(seen.headroom[0]),
            "channels": {one.key.removeprefix("channel:"): bucket_status(one) for one in seen.headroom[1:]},
            "recipient": {
                "capacity": self.policy.limits.recipient_per_minute,
                "refill_rate": round(self.policy.limits.recipient_per_minute / 60, 4),
            },
            "in_flight": {"current": seen.in_flight, "maximum": self.policy.limits.in_flight},
            "provider_throttles": {
                name: {"retry_after_seconds": round(wait, 3)} for name, wait in throttles.items() if name in names
            },
        }

    async def queue_depth(self, channel: object = None) -> dict[str, object]:
        asked = read_choice(channel, "channel", sorted(self.channel_names))
        depth = await self.record.depth(asked)
        names = sorted({name for name, _ in depth.counts} | set(self._channels(asked)))
        oldest = depth.oldest_created_at_us
        return {
            "total_in_flight": sum(depth.counts.values()),
            "by_status": {
                status: sum(count for (_, one), count in depth.counts.items() if one == status)
                for status in ("pending", "in_progress")
            },
            "by_channel": {
                name: sum(count for (one, _), count in depth.counts.items() if one == name) for name in names
            },
            "oldest_age_seconds": (
                None if oldest is None else round(max(0, self.clock.now_us() - oldest) / SECOND_US, 3)
            ),
        }

    async def statistics(
        self, since: object = None, until: object = None, group_by: object = None
    ) -> dict[str, object]:
        window = self._window(since, until)
        asked = read_choice(group_by, "group_by", GroupBy)
        total = await self.record.figures(window, None)
        told = {
            "time_window": {"since": to_text(window.since_us), "until": to_text(window.until_us)},
            **summary(total.get("", Figures())),
        }
        if asked is not None:
            groups = await self.record.figures(window, GroupBy(asked))
            told |= {"group_by": asked, "groups": {name: summary(groups[name]) for name in sorted(groups)}}
        return told

    def _channels(self, channel: object) -> list[str]:
        asked = read_choice(channel, "channel", sorted(self.channel_names))
        return [asked] if asked else sorted(self.channel_names)

    def _window(self, since: object, until: object) -> TimeRange:
        since_us, until_us = read_span(since, until)
        until_us = self.clock.now_us() if until_us is None else until_us
        since_us = until_us - seconds(_DEFAULT_WINDOW_SECONDS) if since_us is None else since_us
        if since_us > until_us:
            raise ValidationError("Invalid time range: since is in the future")
        return TimeRange(since_us=since_us, until_us=until_us)


def circuit_status(circuit: Circuit, policy: BreakerPolicy, now_us: int) -> dict[str, object]:
    tripped = circuit.state is not CircuitState.CLOSED
    waits = circuit.state is CircuitState.OPEN
    probes = [until for until in circuit.probes.values() if until > now_us]
    return {
        "state": str(circuit.state),
        "consecutive_failures": circuit.failures,
        "trip_reason": circuit.reason if tripped else None,
        "trip_timestamp": to_text(circuit.opened_at_us) if tripped else None,
        "retry_after_seconds": max(0.0, remaining_us(circuit, policy, now_us) / SECOND_US) if waits else None,
        "last_error_class": circuit.error_class,
        "last_error_message": circuit.reason,
        "half_open_probes_running": len(probes) if circuit.state is CircuitState.HALF_OPEN else 0,
        "half_open_successes": circuit.successes if circuit.state is CircuitState.HALF_OPEN else 0,
        "recovery": {
            "failure_threshold": policy.failure_threshold,
            "recovery_timeout_seconds": policy.recovery_seconds,
            "half_open_max_probes": policy.half_open_probes,
            "half_open_success_threshold": policy.half_open_successes,
        },
    }


def bucket_status(left: Headroom) -> dict[str, object]:
    """`refill_rate` is in tokens per second; the bucket is full again after `window_reset_seconds`."""
    consumed = left.capacity - left.available
    return {
        "capacity": left.capacity,
        "available": left.available,
        "consumed": round(consumed, 3),
        "refill_rate": round(left.capacity / 60, 4),
        "window_reset_seconds": round(consumed * 60 / left.capacity, 3),
    }


def summary(figures: Figures) -> dict[str, object]:
    """A rate of nothing is null, not zero."""
    finished = figures.delivered + figures.failed + figures.dead_lettered
    return {
        "total_deliveries": figures.deliveries,
        "success_count": figures.delivered,
        "failed_count": figures.failed,
        "dead_lettered_count": figures.dead_lettered,
        "unfinished_count": figures.deliveries - finished,
        "success_rate": _rate(figures.delivered, finished),
        "retry_rate": _rate(figures.retried, figures.attempted),
        "total_attempts": figures.attempts,
        "p50_latency_ms": _rounded(figures.p50_latency_ms),
        "p95_latency_ms": _rounded(figures.p95_latency_ms),
    }


def _channel_tiers(policy: LimitPolicy, names: Sequence[str], scope: str | None) -> list[Tier]:
    """A scope we do not send as is shown when it has a limit of its own, or was asked for."""
    keys = [f"{name}.{one}" for name in names for one in SCOPES if scope in (None, one)]
    shown = [key for key in keys if scope or key.endswith(f".{SCOPE}") or key in policy.channels]
    return [Tier(LimitType.CHANNEL, f"channel:{key}", policy.channel_per_minute(key)) for key in shown]


def _rate(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


# -- Counted where the rows are ---

_requests = delivery_requests.c
_attempts = delivery_attempts.c
_OPEN = text("status IN ('pending', 'in_progress')")  # spelled as in the partial index, or it would not be used
_GROUPS: Final[Mapping[GroupBy, ColumnElement[str]]] = {
    GroupBy.CHANNEL: _requests.channel,
    GroupBy.INTENT: _requests.intent,
    GroupBy.ORIGIN_BUTLER: _requests.origin_butler,
    GroupBy.OUTCOME: _requests.status,
    GroupBy.ERROR_CLASS: func.coalesce(_requests.terminal_error_class, literal_column("'none'")),
}


class StoredFigures:
    """`refused`: of a row of deliveries, whether a person did not let it go."""

    def __init__(self, database: Database, refused: ColumnElement[bool]) -> None:
        self._database = database
        self._kept_back = was_kept_back(refused)

    async def depth(self, channel: str | None) -> Depth:
        return await self._database.read(partial(depth, channel=channel))

    async def figures(self, window: TimeRange, group_by: GroupBy | None) -> Mapping[str, Figures]:
        """By group; under one empty name when there is no grouping."""
        return await self._database.read(
            partial(_figures_of, window=window, group_by=group_by, kept_back=self._kept_back)
        )


def depth(connection: Connection, channel: str | None) -> Depth:
    rows = connection.execute(counted(channel)).all()
    return Depth(
        counts={(row.channel, row.status): row.many for row in rows},
        oldest_created_at_us=min((row.oldest for row in rows), default=None),
    )


def counted(channel: str | None) -> Select[Any]:
    """What is open is picked out first: grouping the table would walk an index of everything there ever was."""
    found = select(_requests.channel, _requests.status, _requests.created_at).where(_OPEN)
    if channel is not None:
        found = found.where(_requests.channel == channel)
    waiting = found.cte("waiting").prefix_with("MATERIALIZED").c
    return select(
        waiting.channel, waiting.status, func.count().label("many"), func.min(waiting.created_at).label("oldest")
    ).group_by(waiting.channel, waiting.status)


def _figures_of(
    connection: Connection, window: TimeRange, group_by: GroupBy | None, kept_back: ColumnElement[bool]
) -> dict[str, Figures]:
    label = _GROUPS[group_by].label("name") if group_by else None
    counts = connection.execute(_counts(window, label, kept_back)).mappings().all()
    latencies = {_name(row): row for row in connection.execute(_latencies(window, label)).mappings()}
    return {_name(row): _figures(row, latencies.get(_name(row))) for row in counts}


def _counts(window: TimeRange, label: Any, kept_back: ColumnElement[bool]) -> Select[Any]:
    """What its sender took back or a person did not let go is no delivery, and nobody's failure."""
    return _grouped(
        [
            func.count().label("deliveries"),
            counting(_requests.status == str(Status.DELIVERED)).label("delivered"),
            counting(_requests.status == str(Status.FAILED)).label("failed"),
            counting(_requests.status == str(Status.DEAD_LETTERED)).label("dead_lettered"),
            counting(_requests.calls > 0).label("attempted"),
            counting(_requests.calls > 1).label("retried"),
        ],
        label,
    ).where(_requests.created_at.between(window.since_us, window.until_us), not_(kept_back))


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
            func.row_number().over(partition_by=partition, order_by=_attempts.latency_ms).label("rank"),
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
            nearest_rank(ranked, 50).label("p50"),
            nearest_rank(ranked, 95).label("p95"),
        ],
        ranked.c.name if label is not None else None,
    ).select_from(ranked)


def _grouped(columns: list[Any], label: Any) -> Select[Any]:
    return select(*columns) if label is None else select(label, *columns).group_by(label)


def counting(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)


def nearest_rank(calls: Subquery, percent: int) -> ColumnElement[Any]:
    """Of calls with their `rank` of so `many`: always a latency that really happened."""
    return func.max(case((calls.c.rank == (calls.c.many * percent + 99) // 100, calls.c.latency_ms)))


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
