"""Circuit breakers, limits and pacing that all processes share, on Redis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from redis.asyncio import Redis, RedisCluster

from postroom.delivery.rules.breaker import BreakerPolicy, Circuit, CircuitState, Permit, Report, as_of
from postroom.delivery.rules.limits import (
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
from postroom.delivery.store.limits import MemoryBreakers, MemoryLimits
from postroom.kernel.database.redis_script import RedisAway, RedisReach, RedisScript, text
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.ids import SECOND_US
from postroom.kernel.values.ids import seconds as microseconds


class _SharedOnRedis:
    """
    While Redis is away each process goes on by itself, with what it knew last, and tells Redis afterwards.

    Time is the Redis server's, one clock for all, unless `clock_from_redis` is
    off. `clock` then gives the time; it always rules what is kept locally.
    """

    def __init__(
        self,
        client: Redis | RedisCluster,
        prefix: str,
        script: str,
        clock: Clock,
        *,
        clock_from_redis: bool,
        reach: RedisReach | None,
    ) -> None:
        self.reach = reach or RedisReach(client, clock)
        self._script = RedisScript(client, script, self.reach)
        self._keys = f"{{{prefix}}}:{script}:"  # the braces keep all keys on one node of a cluster
        self._clock_from_redis = clock_from_redis
        self._clock = clock

    @property
    def away(self) -> bool:
        """Redis gave no answer last time; what is decided holds for this process alone."""
        return self.reach.away

    async def _told(self, keys: Iterable[str], operation: str, *arguments: str | int) -> list[Any]:
        now = "" if self._clock_from_redis else self._clock.now_us()
        return await self._script.run([self._keys + key for key in keys], [operation, now, *arguments])


class RedisBreakers(_SharedOnRedis):
    def __init__(
        self,
        client: Redis | RedisCluster,
        prefix: str,
        policy: BreakerPolicy,
        clock: Clock,
        tokens: Callable[[], str],
        *,
        clock_from_redis: bool = True,
        reach: RedisReach | None = None,
    ) -> None:
        super().__init__(client, prefix, "breaker", clock, clock_from_redis=clock_from_redis, reach=reach)
        self._policy = policy
        self._tokens = tokens
        self._local = MemoryBreakers(policy, clock, tokens)
        self._apart: set[str] = set()  # channels whose circuit went on without Redis

    async def acquire(self, channel: str) -> Permit:
        token = self._tokens()
        try:
            answer = await self._ask(channel, "acquire", token)
        except RedisAway:
            return await self._alone(channel).acquire(channel)
        circuit, allowed = self._learn(channel, answer), bool(answer[1])
        return Permit(
            channel=channel,
            allowed=allowed,
            state=circuit.state,
            generation=circuit.generation,
            token=token if allowed and circuit.state is CircuitState.HALF_OPEN else "",
            retry_after_seconds=answer[2] / SECOND_US,
        )

    async def report(
        self, permit: Permit, result: Report, *, reason: str | None = None, error_class: str | None = None
    ) -> Circuit:
        if not permit.allowed:
            return await self.circuit(permit.channel)
        said = (permit.token, permit.generation, result, reason or "", error_class or "")
        try:
            answer = await self._ask(permit.channel, "report", *said)
        except RedisAway:
            local = self._alone(permit.channel)
            return await local.report(permit, result, reason=reason, error_class=error_class)
        return as_of(self._learn(permit.channel, answer), self._policy, answer[0])

    async def circuit(self, channel: str) -> Circuit:
        try:
            answer = await self._ask(channel, "circuit")
        except RedisAway:
            return await self._local.circuit(channel)
        return as_of(self._learn(channel, answer), self._policy, answer[0])

    async def restore(self, channel: str, circuit: Circuit) -> None:
        try:
            self._learn(channel, await self._ask(channel, "restore", *_spread(circuit)))
        except RedisAway:
            await self._alone(channel).restore(channel, circuit)

    def _alone(self, channel: str) -> MemoryBreakers:
        self._apart.add(channel)
        return self._local

    def _learn(self, channel: str, answer: Sequence[Any]) -> Circuit:
        circuit = _gather(answer[3:])
        self._local.adopt(channel, circuit)
        return circuit

    async def _ask(self, channel: str, operation: str, *arguments: str | int) -> list[Any]:
        if channel in self._apart:
            await self._run(channel, "restore", *_spread(self._local.known(channel)))
            self._apart.discard(channel)
        return await self._run(channel, operation, *arguments)

    async def _run(self, channel: str, operation: str, *arguments: str | int) -> list[Any]:
        policy = self._policy
        rules = (policy.failure_threshold, policy.recovery_us, policy.half_open_probes, policy.half_open_successes)
        return await self._told([channel], operation, *rules, policy.probe_lease_us, *arguments)


def _spread(circuit: Circuit) -> list[str | int]:
    probes = [part for probe in circuit.probes.items() for part in probe]
    counts = (circuit.failures, circuit.successes, circuit.opened_at_us, circuit.generation)
    return [circuit.state, *counts, circuit.reason or "", circuit.error_class or "", *probes]


def _gather(told: Sequence[Any]) -> Circuit:
    state, failures, successes, opened_at_us, generation, reason, error_class, *probes = told
    return Circuit(
        state=CircuitState(text(state)),
        failures=failures,
        successes=successes,
        opened_at_us=opened_at_us,
        generation=generation,
        reason=text(reason) or None,
        error_class=text(error_class) or None,
        probes={text(token): ends for token, ends in zip(probes[::2], probes[1::2], strict=True)},
    )


# -- Admission limits and pacing ---


class RedisLimits(_SharedOnRedis):
    def __init__(
        self,
        client: Redis | RedisCluster,
        prefix: str,
        clock: Clock,
        *,
        clock_from_redis: bool = True,
        reach: RedisReach | None = None,
    ) -> None:
        super().__init__(client, prefix, "limits", clock, clock_from_redis=clock_from_redis, reach=reach)
        self._local = MemoryLimits(clock)
        self._owed: dict[str, int] = {}  # lease -> its end, the earliest first
        self._untold: set[str] = set()  # channels throttled while Redis was away

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
        return await self._told(("in-flight", "throttles", *buckets), operation, *arguments)


def _counted(admission: Admission) -> tuple[Tier, ...]:
    return admission.tiers if admission.share is None else admission.share.counted


def _buckets(admission: Admission) -> tuple[str, ...]:
    """With a share, those who wait at its recipient come last."""
    buckets = tuple(tier.bucket for tier in _counted(admission))
    return buckets if admission.share is None else (*buckets, f"waiting:{admission.share.recipient}")


def _sharing(share: Share | None) -> tuple[int, str, int, int]:
    """Whether somebody's share counts, whose, its reserve, and how long who was refused is taken to wait."""
    return (0, "", 0, 0) if share is None else (1, share.sender, share.reserve_us, MINUTE_US)
