"""Circuit breakers, limits and pacing inside one process, and circuits remembered over a restart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Generic, TypeVar

from sqlalchemy import Connection, select

from postroom.delivery.rules import breaker
from postroom.delivery.rules.breaker import BreakerPolicy, Circuit, CircuitState, Permit, Report
from postroom.delivery.rules.limits import (
    LEASE_US,
    MINUTE_US,
    Admission,
    AdmissionDecision,
    Share,
    Tier,
    admitted,
    believable,
    decision,
    in_flight_wait_us,
    refunded,
    spend,
    throttle_us,
)
from postroom.delivery.store.tables import circuit_states
from postroom.kernel.database.engine import Database, insert_for
from postroom.kernel.database.rows import read, values
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.ids import SECOND_US
from postroom.kernel.values.ids import seconds as microseconds

_NEW: Final = Circuit()


class MemoryBreakers:
    """No step awaits anything in its middle, so every step is atomic within its event loop."""

    def __init__(self, policy: BreakerPolicy, clock: Clock, tokens: Callable[[], str]) -> None:
        self._policy = policy
        self._clock = clock
        self._tokens = tokens
        self._circuits: dict[str, Circuit] = {}
        self._leave: dict[str, Permit] = {}  # of channels whose circuit is closed: one is like the other

    async def acquire(self, channel: str) -> Permit:
        known = self.known(channel)
        if known.state is not CircuitState.CLOSED:
            now = self._clock.now_us()
            self._circuits[channel], permit = breaker.acquire(known, self._policy, channel, self._tokens(), now)
            return permit
        leave = self._leave.get(channel)
        if leave is None or leave.generation != known.generation:
            leave = self._leave[channel] = breaker.leave(known, channel)
        return leave

    async def report(
        self, permit: Permit, result: Report, *, reason: str | None = None, error_class: str | None = None
    ) -> Circuit:
        known = self.known(permit.channel)
        if result is Report.SUCCESS and breaker.is_healthy(known):
            return known
        now = self._clock.now_us()
        circuit = breaker.report(known, self._policy, permit, result, now, reason=reason, error_class=error_class)
        self._circuits[permit.channel] = circuit
        return breaker.as_of(circuit, self._policy, now)

    async def circuit(self, channel: str) -> Circuit:
        known = self.known(channel)
        return known if known.state is CircuitState.CLOSED else breaker.as_of(known, self._policy, self._clock.now_us())

    async def restore(self, channel: str, circuit: Circuit) -> None:
        if circuit.generation > self.known(channel).generation:
            self.adopt(channel, circuit)

    def known(self, channel: str) -> Circuit:
        """As it was written, whatever time it is now."""
        return self._circuits.get(channel, _NEW)

    def adopt(self, channel: str, circuit: Circuit) -> None:
        """Follow another breaker, even backwards."""
        self._circuits[channel] = circuit


def circuit_of(row: Any) -> Circuit:
    return read(Circuit, row, successes=0, probes={})


class StoredCircuits:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, channel: str, circuit: Circuit, now_us: int) -> None:
        """The newest generation wins, whichever process comes last."""
        row = values(circuit, without=("successes", "probes"), channel=channel, updated_at=now_us)

        def work(connection: Connection) -> None:
            written = insert_for(connection, circuit_states).values(row)
            newest = written.on_conflict_do_update(
                index_elements=["channel"],
                set_={name: written.excluded[name] for name in row},
                where=circuit_states.c.generation <= written.excluded.generation,
            )
            connection.execute(newest)

        await self._database.write(work)

    async def load(self) -> Mapping[str, Circuit]:
        def work(connection: Connection) -> dict[str, Circuit]:
            return {row.channel: circuit_of(row) for row in connection.execute(select(circuit_states))}

        return await self._database.read(work)


# -- Admission limits and pacing ---

_Key = TypeVar("_Key")
_SMALLEST_SWEEP = 1024


class MemoryLimits:
    """No step awaits anything in its middle, so every step is atomic within its event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._arrivals = _Moments[str]()
        self._waiting: dict[str, dict[str, int]] = {}  # recipient -> senders refused there, and until when that counts
        self._reserved = _Moments[tuple[str, str]]()  # when the last call was
        self._longest_interval = 0
        self._leases: dict[str, int] = {}  # lease -> its end, the earliest first
        self._throttles: dict[str, tuple[int, int]] = {}  # channel -> its end, its length

    @property
    def remembered(self) -> int:
        """How many buckets and reserved moments are kept."""
        return len(self._arrivals.kept) + len(self._reserved.kept)

    async def admit(self, admission: Admission, *, consume: bool = True) -> AdmissionDecision:
        now = self._clock.now_us()
        in_flight = self._in_flight(now)
        full = in_flight_wait_us(in_flight, admission.max_in_flight, held=admission.lease_id in self._leases)
        waits, before, after = [self._throttled(admission.channel, now), full], [], []
        known, cost, share = self._arrivals.kept, admission.cost_millis, admission.share
        for tier in admission.tiers if share is None else share.counted:
            arrival = known.get(tier.bucket, 0)
            if arrival > now:  # nearly all buckets are full, and of those there is nothing to disbelieve
                arrival = self._believed(tier, arrival, now)
            before.append(arrival)
            spent, wait = spend(tier, arrival, now, cost)
            after.append(spent)
            waits.append(wait)
        if share is not None and ((own := waits.pop()) > 0 or waits[-1] > 0):
            waits[-1] = share.wait_us(waits[-1], own, contended=own > 0 and self._another_waits(share, now))
        if not consume or max(waits) > 0:
            if share is not None and consume and waits[-1] > 0:
                self._waits(share, now)
            return decision(admission, waits, before, in_flight, now)
        self._consume(admission, after, now)
        return admitted(admission, after, len(self._leases), now)

    async def release(self, lease_id: str) -> None:
        self._leases.pop(lease_id, None)

    async def refund(self, admission: Admission) -> None:
        """Only while the lease is held, so that a second refund gives nothing."""
        now = self._clock.now_us()
        if self._leases.pop(admission.lease_id, 0) <= now:
            return
        share = admission.share
        for tier in admission.tiers if share is None else share.counted:
            known = self._believed(tier, self._arrivals.kept.get(tier.bucket, 0), now)
            arrival = refunded(tier, known, admission.cost_millis)
            self._arrivals.put(tier.bucket, arrival, now)

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

    def _another_waits(self, share: Share, now: int) -> bool:
        refused = self._waiting.get(share.recipient, {})
        return any(one != share.sender and now < until <= now + MINUTE_US for one, until in refused.items())

    def _waits(self, share: Share, now: int) -> None:
        refused = {one: until for one, until in self._waiting.pop(share.recipient, {}).items() if until > now}
        self._waiting[share.recipient] = refused | {share.sender: now + MINUTE_US}  # at the end: refused last
        while max(self._waiting[first := next(iter(self._waiting))].values()) <= now:
            del self._waiting[first]

    def _believed(self, tier: Tier, arrival: int, now: int) -> int:
        believed = believable(tier, arrival, now)
        if believed < arrival:
            self._arrivals.put(tier.bucket, believed, now)
        return believed

    def _consume(self, admission: Admission, arrivals: list[int], now: int) -> None:
        share = admission.share
        buckets = [tier.bucket for tier in admission.tiers] if share is None else share.buckets
        self._arrivals.put_all(zip(buckets, arrivals, strict=True), now)
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
        last = self._reserved.kept.get(key, 0)
        wait = min(last, now) + interval - now
        if wait <= 0 or last > now:  # a last time in the future: the clock was set back
            if interval > self._longest_interval:
                self._longest_interval = interval
            self._reserved.put(key, now, now - self._longest_interval)
        return wait if wait > 0 else 0


class _Moments(Generic[_Key]):
    """Moments that mean nothing when they are long past; swept each time there are twice as many."""

    def __init__(self) -> None:
        self.kept: dict[_Key, int] = {}
        self._sweep_at = _SMALLEST_SWEEP

    def put(self, key: _Key, moment_us: int, past_us: int) -> None:
        self.put_all([(key, moment_us)], past_us)

    def put_all(self, moments: Iterable[tuple[_Key, int]], past_us: int) -> None:
        self.kept.update(moments)
        if len(self.kept) >= self._sweep_at:
            self.kept = {name: kept for name, kept in self.kept.items() if kept > past_us}
            self._sweep_at = max(_SMALLEST_SWEEP, 2 * len(self.kept))
