"""Rate limits as arithmetic: tiers, one all-or-nothing decision, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.domain.time import SECOND_US

MINUTE_US: Final = 60 * SECOND_US
IN_FLIGHT_HINT_US: Final = SECOND_US


class LimitType(StrEnum):
    PROVIDER = "provider"
    IN_FLIGHT = "global_in_flight"
    GLOBAL = "global"
    CHANNEL = "channel"
    RECIPIENT = "recipient"


@dataclass(frozen=True, slots=True)
class Tier:
    """One bucket: `per_minute` tokens refilled continuously, as many at once."""

    type: LimitType
    key: str
    per_minute: int

    @property
    def interval_us(self) -> int:
        """How long one token takes to come back."""
        return MINUTE_US // self.per_minute


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What one delivery asks of the limits."""

    lease_id: str
    channel: str
    tiers: tuple[Tier, ...]
    cost_millis: int = 1000
    max_in_flight: int = 0


@dataclass(frozen=True, slots=True)
class Headroom:
    """How much is left in one bucket, in whole and partial tokens."""

    type: LimitType
    key: str
    capacity: int
    available: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    admitted: bool
    limit_type: LimitType | None = None
    retry_after_seconds: float = 0.0
    headroom: tuple[Headroom, ...] = ()
    in_flight: int = 0


def spend(tier: Tier, arrival_us: int, now_us: int, cost_millis: int) -> tuple[int, int]:
    """
    GCRA: the bucket is one number, the theoretical arrival time.

    Returns the arrival time after spending, and how long the caller would have
    to wait before that would be allowed (0 or less: allowed now).
    """
    start = max(arrival_us, now_us)
    after = start + cost_millis * tier.interval_us // 1000
    return after, after - now_us - tier.interval_us * tier.per_minute


def headroom(tier: Tier, arrival_us: int, now_us: int) -> Headroom:
    used = max(arrival_us, now_us) - now_us
    capacity_us = tier.interval_us * tier.per_minute
    available = max(0, capacity_us - used) / tier.interval_us
    return Headroom(tier.type, tier.key, tier.per_minute, round(available, 3))


def strictest(waits: Sequence[tuple[LimitType, int]]) -> tuple[LimitType | None, float]:
    """The first limit that refuses names the refusal; the longest wait is the hint."""
    refusing = [(kind, wait) for kind, wait in waits if wait > 0]
    if not refusing:
        return None, 0.0
    return refusing[0][0], max(wait for _, wait in refusing) / SECOND_US
