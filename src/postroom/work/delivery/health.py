"""How the delivery plane is doing: circuits, limits, what is in flight, and figures over time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from postroom.domain.breaker import BreakerPolicy, Circuit, CircuitState, remaining_us
from postroom.domain.clock import Clock
from postroom.domain.enquiry import GroupBy, TimeRange
from postroom.domain.errors import ValidationError
from postroom.domain.figures import Depth, Figures
from postroom.domain.limits import Admission, Headroom, LimitType, Tier
from postroom.domain.seams import Breakers, Limits
from postroom.domain.time import SECOND_US, seconds, to_text
from postroom.work.delivery.enquiries import read_choice, read_span
from postroom.work.delivery.limits import SCOPE, SCOPES, LimitPolicy
from postroom.work.delivery.policy import DeliveryPolicy

_DEFAULT_WINDOW_SECONDS: Final = 24 * 3600.0


class FiguresRecord(Protocol):
    async def depth(self, channel: str | None) -> Depth: ...

    async def figures(self, window: TimeRange, group_by: GroupBy | None) -> Mapping[str, Figures]:
        """By group; under one empty name when there is no grouping."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryHealth:
    record: FiguresRecord
    limits: Limits
    breakers: Breakers
    policy: DeliveryPolicy
    channels: Collection[str]
    channel_names: frozenset[str]
    clock: Clock

    async def circuits(self, channel: object = None) -> dict[str, Any]:
        told = {}
        for name in self._channels(channel):
            circuit = await self.breakers.circuit(name)
            told[name] = {"configured": name in self.channels} | circuit_status(
                circuit, self.policy.breaker, self.clock.now_us()
            )
        return {"circuits": told}

    async def rate_limits(self, channel: object = None, identity_scope: object = None) -> dict[str, Any]:
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

    async def queue_depth(self, channel: object = None) -> dict[str, Any]:
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
            "oldest_age_seconds": None if oldest is None else _since(oldest, self.clock.now_us()),
        }

    async def statistics(self, since: object = None, until: object = None, group_by: object = None) -> dict[str, Any]:
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


def circuit_status(circuit: Circuit, policy: BreakerPolicy, now_us: int) -> dict[str, Any]:
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


def bucket_status(left: Headroom) -> dict[str, Any]:
    """`refill_rate` is in tokens per second; the bucket is full again after `window_reset_seconds`."""
    consumed = left.capacity - left.available
    return {
        "capacity": left.capacity,
        "available": left.available,
        "consumed": round(consumed, 3),
        "refill_rate": round(left.capacity / 60, 4),
        "window_reset_seconds": round(consumed * 60 / left.capacity, 3),
    }


def summary(figures: Figures) -> dict[str, Any]:
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


def _since(moment_us: int, now_us: int) -> float:
    return round(max(0, now_us - moment_us) / SECOND_US, 3)


def _rate(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
