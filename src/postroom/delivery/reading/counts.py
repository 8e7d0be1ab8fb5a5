"""What the record adds up to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from functools import partial
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    RowMapping,
    Select,
    and_,
    case,
    func,
    literal,
    literal_column,
    not_,
    select,
    text,
    union_all,
)

from postroom.delivery.afterwards.store import was_kept_back
from postroom.delivery.reading.file import GroupBy, TimeRange, read_choice, read_span
from postroom.delivery.rules.breaker import BreakerPolicy, Circuit, CircuitState, remaining_us
from postroom.delivery.rules.limits import SCOPE, SCOPES, Admission, Headroom, LimitPolicy, LimitType, Tier
from postroom.delivery.rules.policy import DeliveryPolicy
from postroom.delivery.seams import Breakers, Limits
from postroom.delivery.store.tables import delivery_attempts, delivery_requests
from postroom.kernel.database.engine import Database
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import SECOND_US, first_id_at, seconds, to_text
from postroom.message.delivery import TERMINAL, Status

MOST_COUNTED: Final = 100_000  # a person reads "more than 100,000" as well as any figure above it
_DEFAULT_WINDOW_SECONDS: Final = 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """What is not yet decided, by channel and status, and since when the oldest waits."""

    counts: Mapping[tuple[str, str], int]
    oldest_created_at_us: int | None

    def many(self, status: str | None = None, channel: str | None = None) -> int:
        return sum(many for (on, one), many in self.counts.items() if status in (None, one) and channel in (None, on))

    def oldest_seconds(self, now_us: int) -> float | None:
        oldest = self.oldest_created_at_us
        return None if oldest is None else max(0, now_us - oldest) / SECOND_US


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

    @property
    def finished(self) -> int:
        return self.delivered + self.failed + self.dead_lettered

    @property
    def success_rate(self) -> float | None:
        """A rate of nothing is null, not zero."""
        return self.delivered / self.finished if self.finished else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """One channel over a window of time; a count above MOST_COUNTED stands for "more than that"."""

    channel: str
    figures: Figures
    last_delivered_at_us: int | None

    @property
    def success_rate(self) -> float | None:
        """None also when there were too many to count."""
        ended = (self.figures.delivered, self.figures.failed, self.figures.dead_lettered)
        return None if max(ended) > MOST_COUNTED else self.figures.success_rate


@dataclass(frozen=True, slots=True)
class Spread:
    """How long so many took, in milliseconds."""

    many: int
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterCounts:
    """Dead letters that nobody has replayed or discarded; `held` are those whose outcome is unknown."""

    given_up: int
    held: int


class Detail(IntEnum):
    """How much is said of deliveries: what says more reads more."""

    MANY = 0
    OUTCOMES = 1  # and since when the oldest is there
    CALLS = 2  # and how long each call of a provider took


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """
    Deliveries of a time, or those that are open now; of more than `most` the newest.

    Those of one channel and status are counted in an index, by their ids, which are times.
    """

    since_us: int = 0
    until_us: int | None = None
    channel: str | None = None
    status: Status | None = None
    is_open: bool = False
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """`names` are what it was sorted by."""

    stretch: Stretch
    names: tuple[str, ...]
    figures: Figures
    oldest_created_at_us: int | None = None


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
        return {
            "total_in_flight": depth.many(),
            "by_status": {status: depth.many(status) for status in ("pending", "in_progress")},
            "by_channel": {name: depth.many(channel=name) for name in names},
            "oldest_age_seconds": _rounded(depth.oldest_seconds(self.clock.now_us())),
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
    return {
        "total_deliveries": figures.deliveries,
        "success_count": figures.delivered,
        "failed_count": figures.failed,
        "dead_lettered_count": figures.dead_lettered,
        "unfinished_count": figures.deliveries - figures.finished,
        "success_rate": _rounded(figures.success_rate, 4),
        "retry_rate": _rounded(figures.retried / figures.attempted if figures.attempted else None, 4),
        "total_attempts": figures.attempts,
        "p50_latency_ms": _rounded(figures.p50_latency_ms),
        "p95_latency_ms": _rounded(figures.p95_latency_ms),
    }


def _channel_tiers(policy: LimitPolicy, names: Sequence[str], scope: str | None) -> list[Tier]:
    """A scope we do not send as is shown when it has a limit of its own, or was asked for."""
    keys = [f"{name}.{one}" for name in names for one in SCOPES if scope in (None, one)]
    shown = [key for key in keys if scope or key.endswith(f".{SCOPE}") or key in policy.channels]
    return [Tier(LimitType.CHANNEL, f"channel:{key}", policy.channel_per_minute(key)) for key in shown]


def _rounded(value: float | None, digits: int = 3) -> float | None:
    return None if value is None else round(value, digits)


# -- One reporter: stretches × what deliveries are sorted by → how many, how they ended, how long their calls took --

_requests = delivery_requests.c
_attempts = delivery_attempts.c
_OPEN = text("status IN ('pending', 'in_progress')")  # spelled as in the partial index, or it would not be used
_MOST_STRETCHES: Final = 100  # in one statement: a database takes no sum of any number of parts
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

    async def report(
        self, stretches: Sequence[Stretch], by: Sequence[GroupBy] = (), detail: Detail = Detail.CALLS
    ) -> Sequence[Counted]:
        """What was taken back or not let go is no delivery, and nobody's failure. Without `by` one for each stretch."""

        def read_all(connection: Connection) -> list[Counted]:
            found = []
            for first in range(0, len(stretches), _MOST_STRETCHES):
                some = stretches[first : first + _MOST_STRETCHES]
                rows = connection.execute(reported(some, by, detail, self._kept_back)).mappings()
                found += [_counted(some[row["place"]], row, len(by)) for row in rows]
            return found

        return await self._database.read(read_all)

    async def depth(self, channel: str | None) -> Depth:
        open_now = Stretch(is_open=True, channel=channel)
        found = await self.report([open_now], (GroupBy.CHANNEL, GroupBy.OUTCOME), Detail.OUTCOMES)
        oldest = (one.oldest_created_at_us for one in found)
        return Depth(
            counts={(one.names[0], one.names[1]): one.figures.deliveries for one in found},
            oldest_created_at_us=min((at for at in oldest if at is not None), default=None),
        )

    async def figures(self, window: TimeRange, group_by: GroupBy | None) -> Mapping[str, Figures]:
        """By group; under one empty name when there is no grouping."""
        whole = Stretch(since_us=window.since_us, until_us=window.until_us + 1)
        found = await self.report([whole], (group_by,) if group_by else ())
        return {"".join(one.names): one.figures for one in found}

    async def tallies(self, channels: Sequence[str], since_us: int) -> Sequence[Tally]:
        cells = [
            Stretch(since_us=since_us, channel=channel, status=status, most=MOST_COUNTED + 1)
            for channel in channels
            for status in sorted(TERMINAL)
        ]
        many = {
            (one.stretch.channel, one.stretch.status): one.figures.deliveries
            for one in await self.report(cells, detail=Detail.MANY)
        }
        newest = await self._database.read(partial(_last_delivered, channels=channels))
        return [
            Tally(
                channel=channel,
                figures=Figures(
                    delivered=many[channel, Status.DELIVERED],
                    failed=many[channel, Status.FAILED],
                    dead_lettered=many[channel, Status.DEAD_LETTERED],
                ),
                last_delivered_at_us=newest[channel],
            )
            for channel in channels
        ]


def reported(
    stretches: Sequence[Stretch], by: Sequence[GroupBy], detail: Detail, kept_back: ColumnElement[bool]
) -> Select[Any]:
    """One statement: each stretch is counted apart, and the calls of all of them are ranked beside that."""
    names = [f"name{place}" for place in range(len(by))]
    columns = [_GROUPS[one].label(name) for one, name in zip(by, names, strict=True)]
    kept = [_rows(one, columns, detail, kept_back) for one in stretches]
    counted = union_all(*(_sums(place, rows, names, detail) for place, rows in enumerate(kept))).subquery("counted")
    if detail < Detail.CALLS:
        return select(counted)
    calls = [
        select(literal(place).label("place"), *(rows.c[name] for name in names), _attempts.latency_ms.label("value"))
        .select_from(rows)
        .join(delivery_attempts, _attempts.delivery_request_id == rows.c.id)
        for place, rows in enumerate(kept)
    ]
    keys = ("place", *names)
    spread = spread_of(union_all(*calls).subquery("calls"), *keys).subquery("spread")
    beside = [counted.c[key] == spread.c[key] for key in keys]
    times = (spread.c.p50.label("p50_latency_ms"), spread.c.p95.label("p95_latency_ms"))
    return select(counted, func.coalesce(spread.c.many, 0).label("attempts"), *times).outerjoin(spread, and_(*beside))


def spread_of(values: FromClause, *keys: str) -> Select[Any]:
    """Of each group the nearest ranks: the smallest `value` that so many per cent do not exceed; one that happened."""
    by = [values.c[key] for key in keys]
    place, many = func.row_number().over(partition_by=by, order_by=values.c.value), func.count().over(partition_by=by)
    ranked = select(*by, values.c.value, place.label("rank"), many.label("many")).subquery("ranked")

    def nearest(percent: int) -> ColumnElement[Any]:
        return func.max(case((ranked.c.rank == (ranked.c.many * percent + 99) // 100, ranked.c.value)))

    of_all = [func.count().label("many"), nearest(50).label("p50"), nearest(95).label("p95")]
    groups = [ranked.c[key] for key in keys]
    return select(*groups, *of_all).group_by(*groups)


def _rows(
    stretch: Stretch, columns: Sequence[ColumnElement[Any]], detail: Detail, kept_back: ColumnElement[bool]
) -> FromClause:
    """Only the columns that are asked for: without the others an index may have all of them."""
    read_too = (_requests.status, _requests.calls, _requests.created_at) if detail > Detail.MANY else ()
    found = select(_requests.id, *read_too, *columns)
    if stretch.channel is not None:
        found = found.where(_requests.channel == stretch.channel)
    if stretch.is_open:  # picked out first: grouping the table would walk an index of everything there ever was
        return found.where(_OPEN).cte("open_now").prefix_with("MATERIALIZED")
    if stretch.status in (None, Status.FAILED):
        found = found.where(not_(kept_back))
    at, edge = (_requests.created_at, int) if stretch.status is None else (_requests.id, first_id_at)
    found = found.where(at >= edge(stretch.since_us))
    if stretch.status is not None:
        found = found.where(_requests.status == str(stretch.status))
    if stretch.until_us is not None:
        found = found.where(at < edge(stretch.until_us))
    return (found.order_by(at.desc()).limit(stretch.most) if stretch.most else found).subquery()


def _sums(place: int, rows: FromClause, names: Sequence[str], detail: Detail) -> Select[Any]:
    groups = [rows.c[name] for name in names]
    sums = [func.count().label("deliveries")]
    if detail > Detail.MANY:
        sums += [
            counting(rows.c.status == str(Status.DELIVERED)).label("delivered"),
            counting(rows.c.status == str(Status.FAILED)).label("failed"),
            counting(rows.c.status == str(Status.DEAD_LETTERED)).label("dead_lettered"),
            counting(rows.c.calls > 0).label("attempted"),
            counting(rows.c.calls > 1).label("retried"),
            func.min(rows.c.created_at).label("oldest"),
        ]
    return select(literal(place).label("place"), *groups, *sums).select_from(rows).group_by(*groups)


def counting(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)


def _counted(stretch: Stretch, row: RowMapping, names: int) -> Counted:
    known = {one.name: row[one.name] for one in fields(Figures) if one.name in row}
    return Counted(
        stretch=stretch,
        names=tuple(str(row[f"name{place}"]) for place in range(names)),
        figures=Figures(**known),
        oldest_created_at_us=row.get("oldest"),
    )


def _last_delivered(connection: Connection, channels: Sequence[str]) -> dict[str, int | None]:
    newest = select(_requests.terminal_at).where(_requests.status == str(Status.DELIVERED))
    newest = newest.order_by(_requests.id.desc()).limit(1)
    return {name: connection.execute(newest.where(_requests.channel == name)).scalar() for name in channels}
