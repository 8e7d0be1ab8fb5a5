"""What the record adds up to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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
