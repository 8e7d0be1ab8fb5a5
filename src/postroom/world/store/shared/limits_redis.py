"""Admission limits and pacing that all processes share, on Redis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from redis.asyncio import Redis, RedisCluster

from postroom.domain.clock import Clock
from postroom.domain.limits import (
    IN_FLIGHT_HINT_US,
    LEASE_US,
    MINUTE_US,
    THROTTLE_LONGEST_US,
    Admission,
    AdmissionDecision,
    Share,
    Tier,
    decision,
    throttle_us,
)
from postroom.domain.time import SECOND_US
from postroom.domain.time import seconds as microseconds
from postroom.world.store.shared.limits_memory import MemoryLimits
from postroom.world.store.shared.redis_reach import RedisReach
from postroom.world.store.shared.redis_script import RedisAway, RedisScript, text


class RedisLimits:
    """
    While Redis is away each process keeps the limits by itself.

    Time is the Redis server's, one clock for all, unless `clock_from_redis` is
    off. `clock` then gives the time; it always rules what is kept locally.
    """

    def __init__(
        self,
        client: Redis | RedisCluster,
        prefix: str,
        clock: Clock,
        *,
        clock_from_redis: bool = True,
        reach: RedisReach | None = None,
    ) -> None:
        self.reach = reach or RedisReach(client, clock)
        self._script = RedisScript(client, "limits", self.reach)
        self._keys = f"{{{prefix}}}:limits:"  # the braces keep all keys on one node of a cluster
        self._clock_from_redis = clock_from_redis
        self._clock = clock
        self._local = MemoryLimits(clock)
        self._owed: dict[str, int] = {}  # lease -> its end, the earliest first
        self._untold: set[str] = set()  # channels throttled while Redis was away

    @property
    def away(self) -> bool:
        """Redis gave no answer last time; the limits hold for this process alone."""
        return self.reach.away

    async def admit(self, admission: Admission, *, consume: bool = True) -> AdmissionDecision:
        try:
            await self._settle()
            return await self._admit(admission, consume)
        except RedisAway as error:
            if consume and error.attempted:
                self._owe(admission.lease_id)
            return await self._local.admit(admission, consume=consume)

    async def release(self, lease_id: str) -> None:
        if self._local.holds(lease_id):
            await self._local.release(lease_id)
            return
        try:
            await self._run("release", lease_id)
        except RedisAway:
            self._owe(lease_id)

    async def refund(self, admission: Admission) -> None:
        if self._local.holds(admission.lease_id):
            await self._local.refund(admission)
            return
        try:
            await self._refund(admission)
        except RedisAway:
            self._owe(admission.lease_id)

    async def throttles(self) -> Mapping[str, float]:
        try:
            await self._settle()
            answer = await self._run("throttles")
        except RedisAway:
            return await self._local.throttles()
        return {text(channel): left / SECOND_US for channel, left in zip(answer[::2], answer[1::2], strict=True)}

    async def throttle(self, channel: str, seconds: float) -> None:
        """Known here as well, so that a provider's word outlasts the loss of Redis."""
        await self._local.throttle(channel, seconds)
        try:
            await self._throttle(channel, seconds)
        except RedisAway:
            self._untold.add(channel)

    async def reserve(self, channel: str, address: str, interval_seconds: float) -> float:
        # The channel is quoted so that no channel and address can be read as another pair.
        key = f"pace:{quote(channel, safe='')}:{address}"
        try:
            await self._settle()
            answer = await self._run("reserve", channel, microseconds(interval_seconds), buckets=(key,))
        except RedisAway:
            return await self._local.reserve(channel, address, interval_seconds)
        return float(answer[0] / SECOND_US)

    async def _admit(self, admission: Admission, consume: bool) -> AdmissionDecision:
        arguments: list[str | int] = [admission.channel, admission.lease_id, admission.max_in_flight]
        arguments += [IN_FLIGHT_HINT_US, LEASE_US, int(consume), *_sharing(admission.share)]
        for tier in _counted(admission):
            arguments += [tier.latest_us, tier.capacity_us, tier.cost_us(admission.cost_millis)]
        now, in_flight, *numbers = await self._run("admit", *arguments, buckets=_buckets(admission))
        waits, arrivals = numbers[: 2 + len(admission.tiers)], numbers[2 + len(admission.tiers) :]
        decided = decision(admission, waits, arrivals, in_flight, now)
        if consume and decided.admitted:
            await self._local.release(admission.lease_id)  # a place taken here while Redis was away
        return decided

    async def _refund(self, admission: Admission) -> None:
        arguments: list[str | int] = [admission.lease_id]
        for tier in _counted(admission):
            arguments += [tier.latest_us, tier.cost_us(admission.cost_millis)]
        await self._run("refund", *arguments, buckets=_buckets(admission))

    async def _throttle(self, channel: str, seconds: float) -> None:
        await self._run("throttle", channel, throttle_us(seconds), THROTTLE_LONGEST_US)

    def _owe(self, lease_id: str) -> None:
        """A place Redis may still count as taken; its lease ends by itself if we cannot say so in time."""
        now = self._clock.now_us()
        while self._owed and self._owed[first := next(iter(self._owed))] <= now:
            del self._owed[first]
        if lease_id:
            self._owed[lease_id] = now + LEASE_US

    async def _settle(self) -> None:
        """Tell Redis what it missed while it was away."""
        if self._untold:
            left = await self._local.throttles()
            for channel in tuple(self._untold):
                await self._throttle(channel, left.get(channel, 0.0))
                self._untold.discard(channel)
        if self._owed:
            owed, self._owed = self._owed, {}
            try:
                await self._run("release", *owed)
            except RedisAway:
                self._owed = owed | self._owed
                raise

    async def _run(self, operation: str, *arguments: str | int, buckets: tuple[str, ...] = ()) -> list[Any]:
        keys = [self._keys + name for name in ("in-flight", "throttles", *buckets)]
        now = "" if self._clock_from_redis else self._clock.now_us()
        return await self._script.run(keys, [operation, now, *arguments])


def _counted(admission: Admission) -> tuple[Tier, ...]:
    return admission.tiers if admission.share is None else admission.share.counted


def _buckets(admission: Admission) -> tuple[str, ...]:
    """With a share, those who wait at its recipient come last."""
    buckets = tuple(tier.bucket for tier in _counted(admission))
    return buckets if admission.share is None else (*buckets, f"waiting:{admission.share.recipient}")


def _sharing(share: Share | None) -> tuple[int, str, int, int]:
    """Whether somebody's share counts, whose, its reserve, and how long who was refused is taken to wait."""
    return (0, "", 0, 0) if share is None else (1, share.sender, share.reserve_us, MINUTE_US)
