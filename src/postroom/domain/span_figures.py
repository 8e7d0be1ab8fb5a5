"""What is counted over a span of time, stretch by stretch, for pictures and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MOST_LOOKED_AT: Final = 20_000  # rows that are read where no index has all that is counted


class FigureSpan(StrEnum):
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureQuery:
    """Between each edge and the next lies one stretch, whose place is its number; no `person` means everybody."""

    edges_us: tuple[int, ...]
    channel: str | None = None
    agent: str | None = None
    person: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """So many of one kind in one stretch; `agent` is None where it was not asked who sent them."""

    place: int
    channel: str
    agent: str | None
    state: str
    many: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """How long one thing took from its beginning to its end."""

    place: int
    channel: str
    agent: str
    milliseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedDeliveries:
    """`by_agent` comes from the newest deliveries only when there are too many of them: `is_whole` is False then."""

    outcomes: Sequence[Counted]
    by_agent: Sequence[Counted]
    arrivals: Sequence[Took]
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedNotices:
    states: Sequence[Counted]
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedQuestions:
    endings: Sequence[Counted]
    answers: Sequence[Took]
    is_whole: bool
