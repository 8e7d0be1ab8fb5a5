"""Who is in the household, and whether work may be sent to them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from postroom.domain.time import seconds

DEFAULT_LIVENESS_TTL_SECONDS = 300.0


class Eligibility(StrEnum):
    ACTIVE = "active"
    STALE = "stale"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    name: str
    endpoint_url: str
    description: str
    modules: tuple[str, ...]
    last_seen_at_us: int
    liveness_ttl_seconds: float = DEFAULT_LIVENESS_TTL_SECONDS
    quarantine_reason: str | None = None


def eligibility(one: Registration, now_us: int) -> tuple[Eligibility, str | None]:
    """Silence makes a butler stale, longer silence quarantines it; so does the operator."""
    if one.quarantine_reason is not None:
        return Eligibility.QUARANTINED, one.quarantine_reason
    silent_us = now_us - one.last_seen_at_us
    if silent_us > seconds(2 * one.liveness_ttl_seconds):
        return Eligibility.QUARANTINED, f"not heard of for {silent_us // 1_000_000} s"
    if silent_us > seconds(one.liveness_ttl_seconds):
        return Eligibility.STALE, f"not heard of for {silent_us // 1_000_000} s"
    return Eligibility.ACTIVE, None
