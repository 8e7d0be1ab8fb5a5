"""Circuit breakers that all processes share, on Redis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from redis.asyncio import Redis, RedisCluster

from postroom.domain.breaker import BreakerPolicy, Circuit, CircuitState, Permit, Report, as_of
from postroom.domain.clock import Clock
from postroom.domain.time import SECOND_US
from postroom.world.store.shared.breakers_memory import MemoryBreakers
from postroom.world.store.shared.redis_reach import RedisReach
from postroom.world.store.shared.redis_script import RedisAway, RedisScript, text


class RedisBreakers:
    """
    While Redis is away each process goes on with what it knew last, and tells Redis afterwards.

    Time is the Redis server's, one clock for all, unless `clock_from_redis` is
    off. `clock` then gives the time; it always rules what is kept locally.
    """

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
        self.reach = reach or RedisReach(client, clock)
        self._script = RedisScript(client, "breaker", self.reach)
        self._keys = f"{{{prefix}}}:breaker:"  # the braces keep all keys on one node of a cluster
        self._policy = policy
        self._clock_from_redis = clock_from_redis
        self._clock = clock
        self._tokens = tokens
        self._local = MemoryBreakers(policy, clock, tokens)
        self._apart: set[str] = set()  # channels whose circuit went on without Redis

    @property
    def away(self) -> bool:
        """Redis gave no answer last time; the circuits are those of this process alone."""
        return self.reach.away

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
        now = "" if self._clock_from_redis else self._clock.now_us()
        return await self._script.run([self._keys + channel], [operation, now, *_rules(self._policy), *arguments])


def _rules(policy: BreakerPolicy) -> tuple[int, ...]:
    return (
        policy.failure_threshold,
        policy.recovery_us,
        policy.half_open_probes,
        policy.half_open_successes,
        policy.probe_lease_us,
    )


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
