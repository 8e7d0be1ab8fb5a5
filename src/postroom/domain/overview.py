"""What a person sees first: how much went out lately, and what needs a hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from postroom.domain.delivery import Status

MOST_COUNTED: Final = 100_000  # a person reads "more than 100,000" as well as any figure above it


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
