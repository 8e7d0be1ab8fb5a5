"""Admission limits and pacing inside one process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from postroom.domain.limits import (
    LEASE_US,
    Admission,
    AdmissionDecision,
    LimitType,
    Tier,
    believable,
    decision,
    in_flight_wait_us,
    refunded,
    spend,
    throttle_us,
)
from postroom.domain.ports import Clock
from postroom.domain.time import SECOND_US
from postroom.domain.time import seconds as microseconds

_Key = TypeVar("_Key")
_SMALLEST_SWEEP = 1024


class MemoryLimits:
    """No step awaits anything in its middle, so every step is atomic within its event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._arrivals = _Fading[tuple[LimitType, str]]()
        self._reserved = _Fading[tuple[str, str]]()
        self._leases: dict[str, int] = {}  # lease -> its end, the earliest first
        self._throttles: dict[str, tuple[int, int]] = {}  # channel -> its end, its length

    @property
    def remembered(self) -> int:
        """How many buckets and reserved moments are kept."""
        return len(self._arrivals) + len(self._reserved)

    async def admit(self, admission: Admission, *, consume: bool = True) -> AdmissionDecision:
        now = self._clock.now_us()
        in_flight = self._in_flight(now)
        full = in_flight_wait_us(in_flight, admission.max_in_flight, held=admission.lease_id in self._leases)
        waits, before, after = [self._throttled(admission.channel, now), full], [], []
        for tier in admission.tiers:
            arrival = self._arrival(tier, now)
            spent, wait = spend(tier, arrival, now, admission.cost_millis)
            before.append(arrival)
            after.append(spent)
            waits.append(wait)
        if not consume or max(waits) > 0:
            return decision(admission, waits, before, in_flight, now)
        self._consume(admission, after, now)
        return decision(admission, waits, after, len(self._leases), now)

    async def release(self, lease_id: str) -> None:
        self._leases.pop(lease_id, None)

    async def refund(self, admission: Admission) -> None:
        """Only while the lease is held, so that a second refund gives nothing."""
        now = self._clock.now_us()
        if self._leases.pop(admission.lease_id, 0) <= now:
            return
        for tier in admission.tiers:
            arrival = refunded(tier, self._arrival(tier, now), admission.cost_millis)
            self._arrivals.put(tier.bucket, arrival, arrival, now)

    async def throttles(self) -> Mapping[str, float]:
        now = self._clock.now_us()
        left = {channel: self._throttled(channel, now) for channel in tuple(self._throttles)}
        return {channel: wait / SECOND_US for channel, wait in left.items() if wait > 0}

    async def throttle(self, channel: str, seconds: float) -> None:
        now = self._clock.now_us()
        length = throttle_us(seconds)
        if length > self._throttled(channel, now):
            self._throttles[channel] = (now + length, length)

    async def reserve(self, channel: str, address: str, interval_seconds: float) -> float:
        now = self._clock.now_us()
        interval = microseconds(interval_seconds)
        wait = self._throttled(channel, now) or self._pace((channel, address), interval, now)
        return wait / SECOND_US

    @property
    def held(self) -> list[str]:
        return list(self._leases)

    def holds(self, lease_id: str) -> bool:
        return lease_id in self._leases

    def _arrival(self, tier: Tier, now: int) -> int:
        arrival = self._arrivals.get(tier.bucket)
        if arrival <= now:  # a full bucket, and nearly all are: there is nothing to disbelieve
            return arrival
        believed = believable(tier, arrival, now)
        if believed < arrival:
            self._arrivals.put(tier.bucket, believed, believed, now)
        return believed

    def _consume(self, admission: Admission, arrivals: list[int], now: int) -> None:
        for tier, arrival in zip(admission.tiers, arrivals, strict=True):
            self._arrivals.put(tier.bucket, arrival, arrival, now)
        if admission.lease_id:
            self._leases.pop(admission.lease_id, None)
            self._leases[admission.lease_id] = now + LEASE_US

    def _in_flight(self, now: int) -> int:
        latest = now + LEASE_US
        if self._leases and self._leases[next(reversed(self._leases))] > latest:  # the clock was set back
            self._leases = {lease_id: min(end, latest) for lease_id, end in self._leases.items()}
        while self._leases and self._leases[first := next(iter(self._leases))] <= now:
            del self._leases[first]
        return len(self._leases)

    def _throttled(self, channel: str, now: int) -> int:
        if channel not in self._throttles:
            return 0
        end, length = self._throttles[channel]
        if end <= now:
            del self._throttles[channel]
            return 0
        if end - now > length:  # the clock was set back
            self._throttles[channel] = (now + length, length)
        return min(end - now, length)

    def _pace(self, key: tuple[str, str], interval: int, now: int) -> int:
        last = self._reserved.get(key)
        wait = min(last, now) + interval - now
        if wait <= 0 or last > now:  # a last time in the future: the clock was set back
            self._reserved.put(key, now, now + interval, now)
        return max(0, wait)


class _Fading(Generic[_Key]):
    """Numbers that mean nothing after a moment; swept each time there are twice as many."""

    def __init__(self) -> None:
        self._kept: dict[_Key, tuple[int, int]] = {}
        self._sweep_at = _SMALLEST_SWEEP

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: _Key) -> int:
        return self._kept.get(key, (0, 0))[0]

    def put(self, key: _Key, value: int, until_us: int, now_us: int) -> None:
        self._kept[key] = (value, until_us)
        if len(self._kept) >= self._sweep_at:
            self._kept = {name: kept for name, kept in self._kept.items() if kept[1] > now_us}
            self._sweep_at = max(_SMALLEST_SWEEP, 2 * len(self._kept))
