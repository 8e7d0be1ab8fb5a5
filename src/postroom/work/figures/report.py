"""What was counted, added up: by stretch, by channel and by agent, so that every sum closes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, TypeVar

from postroom.domain.delivery import Status
from postroom.domain.notice_states import CELLS
from postroom.domain.span_figures import (
    Counted,
    CountedDeliveries,
    CountedNotices,
    CountedQuestions,
    FigureSpan,
    Took,
)

WITHDRAWN: Final = "withdrawn"  # failed because its sender took it back before it was sent
_CELL_OF: Final = {str(state): cell for cell, states in CELLS.items() for state in states}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallied:
    """Counts by state, and the median and the 95th percentile of how long those took that came to their end."""

    counts: Mapping[str, int] = field(default_factory=dict)
    p50_ms: float | None = None
    p95_ms: float | None = None

    def count(self, *states: str) -> int:
        return sum(self.counts.get(str(one), 0) for one in states)

    @property
    def all(self) -> int:
        return sum(self.counts.values())

    @property
    def success_rate(self) -> float | None:
        """Of deliveries that have ended."""
        ended = self.count(Status.DELIVERED, Status.FAILED, Status.DEAD_LETTERED)
        return self.count(Status.DELIVERED) / ended if ended else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    since_us: int
    until_us: int
    tallied: Tallied


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow:
    """A channel took much longer in one stretch than it does else."""

    channel: str
    since_us: int
    p95_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedUp:
    """One kind of thing over the whole span; not `is_whole` when there were more than are looked at."""

    total: Tallied
    stretches: tuple[Stretch, ...]
    by_agent: Mapping[str, Tallied]
    by_channel: Mapping[str, Tallied] = field(default_factory=dict)
    slow: tuple[Slow, ...] = ()
    is_whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanReport:
    """`deliveries` is None for those who see only what is their own; `person` says whose, None means everybody's."""

    span: FigureSpan
    zone: str
    since_us: int
    until_us: int
    channel: str | None
    agent: str | None
    person: str | None
    deliveries: AddedUp | None
    notices: AddedUp
    questions: AddedUp

    @property
    def is_empty(self) -> bool:
        kinds = (self.deliveries, self.notices, self.questions)
        return not any(one.total.all for one in kinds if one is not None)


def added_deliveries(found: CountedDeliveries, edges_us: Sequence[int]) -> AddedUp:
    return AddedUp(
        total=_tallied(found.outcomes, found.arrivals),
        stretches=_stretches(found.outcomes, found.arrivals, edges_us),
        by_channel=_grouped(found.outcomes, found.arrivals, lambda one: one.channel),
        by_agent=_grouped(found.by_agent, found.arrivals, lambda one: one.agent or ""),
        slow=slow_stretches(found.arrivals, edges_us),
        is_whole=found.is_whole,
    )


def added_notices(found: CountedNotices, edges_us: Sequence[int]) -> AddedUp:
    return _added(found.states, (), edges_us, found.is_whole)


def added_questions(found: CountedQuestions, edges_us: Sequence[int]) -> AddedUp:
    return _added(found.endings, found.answers, edges_us, found.is_whole)


def cells_of(tallied: Tallied) -> dict[str, int]:
    """As a person's own figures name them: each notice in exactly one."""
    counted = Counter(dict.fromkeys(CELLS, 0))
    for state, many in tallied.counts.items():
        counted[_CELL_OF[state]] += many
    return dict(counted)


def percentile(values: Iterable[float], percent: int) -> float | None:
    """Nearest rank: always one that really happened."""
    ordered = sorted(values)
    return ordered[(len(ordered) * percent + 99) // 100 - 1] if ordered else None


SLOW_MS: Final = 5_000.0
_SLOWER: Final = 4  # times the channel's own median
_FEWEST: Final = 3  # one late message makes no slow day
_MOST_SLOW: Final = 3


def slow_stretches(arrivals: Sequence[Took], edges_us: Sequence[int]) -> tuple[Slow, ...]:
    """The worst first."""
    usual = {name: percentile(times, 50) or 0.0 for name, times in _times(arrivals, lambda one: one.channel).items()}
    found = [
        Slow(channel=channel, since_us=edges_us[place], p95_ms=p95)
        for (place, channel), times in _times(arrivals, lambda one: (one.place, one.channel)).items()
        if len(times) >= _FEWEST
        and (p95 := percentile(times, 95) or 0.0) >= SLOW_MS
        and p95 >= _SLOWER * usual[channel]
    ]
    return tuple(sorted(found, key=lambda one: -one.p95_ms)[:_MOST_SLOW])


def slow_channels(arrivals: Sequence[Took]) -> dict[str, float]:
    """Those in which 95 of 100 take longer than people wait, with how long."""
    times = _times(arrivals, lambda one: one.channel)
    found = {name: percentile(some, 95) or 0.0 for name, some in times.items() if len(some) >= _FEWEST}
    return {name: p95 for name, p95 in found.items() if p95 >= SLOW_MS}


Key = TypeVar("Key")


def _added(counted: Sequence[Counted], took: Sequence[Took], edges_us: Sequence[int], is_whole: bool) -> AddedUp:
    return AddedUp(
        total=_tallied(counted, took),
        stretches=_stretches(counted, took, edges_us),
        by_agent=_grouped(counted, took, lambda one: one.agent or ""),
        is_whole=is_whole,
    )


def _stretches(counted: Sequence[Counted], took: Sequence[Took], edges_us: Sequence[int]) -> tuple[Stretch, ...]:
    by_place = _grouped(counted, took, lambda one: one.place)
    return tuple(
        Stretch(since_us=since, until_us=until, tallied=by_place.get(place, Tallied()))
        for place, (since, until) in enumerate(pairwise(edges_us))
    )


def _grouped(
    counted: Sequence[Counted], took: Sequence[Took], key: Callable[[Counted | Took], Key]
) -> dict[Key, Tallied]:
    """The largest first."""
    rows: dict[Key, list[Counted]] = {}
    for one in counted:
        rows.setdefault(key(one), []).append(one)
    times = _times(took, key)
    tallied = {name: _tallied_of(some, times.get(name, ())) for name, some in rows.items()}
    return dict(sorted(tallied.items(), key=lambda one: (-one[1].all, one[0])))


def _tallied(counted: Sequence[Counted], took: Sequence[Took]) -> Tallied:
    return _tallied_of(counted, [one.milliseconds for one in took])


def _tallied_of(counted: Iterable[Counted], times: Sequence[float]) -> Tallied:
    counts: Counter[str] = Counter()
    for one in counted:
        counts[one.state] += one.many
    return Tallied(counts=dict(counts), p50_ms=percentile(times, 50), p95_ms=percentile(times, 95))


def _times(took: Sequence[Took], key: Callable[[Took], Key]) -> dict[Key, list[float]]:
    times: dict[Key, list[float]] = {}
    for one in took:
        times.setdefault(key(one), []).append(one.milliseconds)
    return times
