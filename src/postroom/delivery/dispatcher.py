"""Who works on what, and when: slots, wake-ups, recovery and the sweep; and who is told of it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Collection, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from postroom.delivery.model import Claim, Lease, NewDelivery, Settlement, Snapshot
from postroom.delivery.pipeline import Pipeline, Ready
from postroom.delivery.reading.meter import DeliveryMeter
from postroom.delivery.rules.policy import DeliveryPolicy
from postroom.delivery.rules.retry import RetryPolicy, conclude
from postroom.delivery.seams import Limits
from postroom.delivery.store.ledger import DeliveryLedger
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.ids import SECOND_US, DeliveryId, seconds
from postroom.message.channel import UNDECLARED, KnownChannels
from postroom.message.delivery import TERMINAL, Status

_SWEEP_BATCH = 200
_REMEMBERED = 10_000


class Dispatcher:
    """
    Runs attempts in a bounded number of slots per channel, so that a slow
    provider cannot take the place of a healthy one.

    It claims when something tells it to: a row written without a lease, a retry
    whose time has come, a settled delivery that others were queued behind, a
    notice from another process; and when a sweep finds a row that waits, in case
    a notice was lost. With nothing pending it asks, and writes nothing.
    """

    def __init__(
        self,
        *,
        ledger: DeliveryLedger,
        channels: Collection[str],
        pipeline: Pipeline,
        recovery: Recovery,
        outcomes: Outcomes,
        policy: DeliveryPolicy,
        clock: Clock,
        meter: DeliveryMeter,
        stopping: asyncio.Event,
    ) -> None:
        """`stopping` is the pipeline's as well: what it has not yet sent then goes back."""
        self._ledger = ledger
        self._channels = channels
        self._pipeline = pipeline
        self._recovery = recovery
        self._outcomes = outcomes
        self._policy = policy
        self._clock = clock
        self._meter = meter
        self.stopping = stopping
        self._busy: defaultdict[str, int] = defaultdict(int)
        self._running: set[asyncio.Task[None]] = set()
        self._in_hand: dict[DeliveryId, int] = {}
        self.woken = Signal()
        self._wake_at_us: int | None = None
        self._next_sweep_us = 0
        self._queued = False  # rows may wait behind others, or for a slot
        self._started = False

    def reserve(self, channel: str) -> bool:
        """A slot kept for a row about to be written; without one it is left to be claimed in its turn."""
        if not self._started or self.stopping.is_set() or self._free(channel) <= 0:
            return False
        self._busy[channel] += 1
        return True

    def unreserve(self, channel: str) -> None:
        self._busy[channel] -= 1

    def lease(self, new: NewDelivery, now_us: int, *, sending: bool) -> Lease:
        marked = self._policy.sending_lease_seconds(new.channel, new.file_bytes)
        length = marked if sending else self._policy.lease_seconds
        return Lease(until_us=now_us + int(length * SECOND_US), sending=sending)

    def join(self, task: asyncio.Task[None]) -> None:
        """A task that writes rows or works on them: stopping waits for it, so that no lease is left behind."""
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def carry(self, claim: Claim, ready: Ready) -> Awaitable[None]:
        """The attempt on a row that was written for us, in the task that wrote it."""
        self._hold(claim)
        return self._work(claim, self._pipeline.attempt(claim, ready))

    def take(self, claim: Claim, *, claimed: bool = False) -> None:
        self._start(claim, self._pipeline.attempt(claim), claimed=claimed)

    def withdraw(self, claim: Claim) -> None:
        self._start(claim, self._pipeline.withdraw(claim))

    def has_in_hand(self, delivery_id: DeliveryId) -> bool:
        """Whoever waits for it here will be told here."""
        return delivery_id in self._in_hand

    def wake(self) -> None:
        """Somewhere a row was left pending."""
        self._queued = True
        self.woken.ring()

    async def start(self) -> None:
        """Take over what an earlier process left behind, before any new work."""
        await self._sweep(await self._ledger.orphaned_before_us(self._clock.now_us()))
        self._started = True

    async def look(self) -> int:
        """One round; returns when the next one is due unless it is `woken` before."""
        if self._is_time(self._next_sweep_us):
            await self._look_around()
            self._next_sweep_us = self._clock.now_us() + seconds(self._policy.sweep_seconds)
        if self._queued or (self._wake_at_us is not None and self._wake_at_us <= self._clock.now_us()):
            await self._claim_due()
        return self._next_look(self._next_sweep_us)

    async def drain(self, timeout_seconds: float) -> int:
        """Stop taking work, let what is running finish; returns how many did not. Nobody gets a second chance."""
        if self.stopping.is_set():
            timeout_seconds = 0.0
        self.stopping.set()
        self.woken.ring()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                while self._running:  # one that was being claimed may join those that run
                    await asyncio.wait(self._running)
        return len(self._running)

    async def _look_around(self) -> None:
        if not self._pipeline.unwritten:  # what this process has sent and not yet written down is not lost
            await self._sweep(self._clock.now_us())
        self._queued = False
        self._queued = await self._ledger.next_due_us(0) is not None or self._queued
        self._wake_by(await self._ledger.next_due_us(self._clock.now_us()))

    async def _claim_due(self) -> None:
        now, crowded = self._clock.now_us(), False
        for channel in self._channels:
            if (free := self._free(channel)) <= 0:
                crowded = True
            else:
                claims = await self._ledger.claim(channel, now_us=now, lease_until_us=self._lease_end(), limit=free)
                for claim in claims:
                    self._queued = True  # behind it, or for its slot, others may wait
                    self.take(claim, claimed=True)
        if self._wake_at_us is not None and self._wake_at_us <= now:
            self._wake_at_us = None
            self._queued = self._queued or crowded  # whoever is due takes the next slot that becomes free
            self._wake_by(await self._ledger.next_due_us(now))

    def _start(self, claim: Claim, attempt: Coroutine[Any, Any, Settlement | None], *, claimed: bool = False) -> None:
        self._hold(claim)
        self.join(asyncio.create_task(self._work(claim, attempt, claimed=claimed)))

    async def _work(self, claim: Claim, attempt: Awaitable[Settlement | None], *, claimed: bool = False) -> None:
        done = None
        try:
            done = await attempt
        except StoreUnavailable:
            pass  # not marked, so nothing was sent: the lease will run out and the sweep gives it back
        except Exception as error:
            self._meter.bug(claim, error)
        finally:
            self._let_go(claim)
        if done is not None:
            self._settled(done)
        else:
            with suppress(StoreUnavailable):  # if somebody else has taken it over, the notice came while we held it
                await self._outcomes.refresh([claim.id])
        if claimed or self._queued:
            self.woken.ring()

    def _settled(self, done: Settlement) -> None:
        if done.status in TERMINAL:
            self._outcomes.settled(done.snapshot())
        elif done.status is Status.PENDING:
            self._wake_by(done.not_before_us)

    def _next_look(self, next_sweep_us: int) -> int:
        """Never farther away than one round of sweeps: the clock may have been set back since these were written."""
        a_round_from_now = self._clock.now_us() + seconds(self._policy.sweep_seconds)
        return min(next_sweep_us, self._wake_at_us or next_sweep_us, a_round_from_now)

    def _is_time(self, next_sweep_us: int) -> bool:
        """A sweep farther away than one round of them: the clock was set back."""
        now = self._clock.now_us()
        return not now < next_sweep_us <= now + seconds(self._policy.sweep_seconds)

    async def _sweep(self, expired_before_us: int) -> None:
        now = self._clock.now_us()
        while claims := await self._ledger.reclaim(
            expired_before_us=expired_before_us,
            now_us=now,
            lease_until_us=self._lease_end(),
            limit=_SWEEP_BATCH,
            in_hand=list(self._in_hand),
        ):
            for claim in claims:
                if done := await self._recovery.settle(claim):
                    self._settled(done)
            if len(claims) < _SWEEP_BATCH:
                return

    def _hold(self, claim: Claim) -> None:
        self._busy[claim.channel] += 1
        self._in_hand[claim.id] = self._in_hand.get(claim.id, 0) + 1

    def _let_go(self, claim: Claim) -> None:
        self._busy[claim.channel] -= 1
        still = self._in_hand[claim.id] - 1
        if still:
            self._in_hand[claim.id] = still
        else:
            del self._in_hand[claim.id]

    def _free(self, channel: str) -> int:
        return self._policy.slots_per_channel - self._busy[channel]

    def _lease_end(self) -> int:
        return self._clock.now_us() + round(self._policy.lease_seconds * SECOND_US)

    def _wake_by(self, moment_us: int | None) -> None:
        """Somebody must look at this moment; an earlier appointment stands."""
        if moment_us is None or (self._wake_at_us is not None and self._wake_at_us <= moment_us):
            return
        self._wake_at_us = moment_us
        self.woken.ring()


# -- Deliveries whose worker was lost, as the rules of the sweep say ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    ledger: DeliveryLedger
    limits: Limits
    retry: RetryPolicy
    clock: Clock
    meter: DeliveryMeter
    dice: Callable[[], float]
    mint: Callable[[int], str]
    can: KnownChannels

    async def settle(self, claim: Claim) -> Settlement | None:
        """None when somebody else has taken it over meanwhile."""
        now = self.clock.now_us()
        can = self.can.get(claim.channel, UNDECLARED)  # it may have been taken out of the settings
        done = conclude(claim, self.retry, now_us=now, dice=self.dice(), dead_letter_id=self.mint(now), can=can)
        if not await self.ledger.settle(done):
            return None
        self.meter.settled(done)
        if done.status in TERMINAL:
            await self.limits.release(claim.id)
        return done


# -- Callers who wait for a delivery are woken by its settling; nobody polls ---

_Answer: TypeAlias = "asyncio.Future[Snapshot | None]"


class Outcomes:
    def __init__(self, ledger: DeliveryLedger, clock: Clock, *, alone: bool = False) -> None:
        """`alone`: no other process settles anything, so of what is settled we hear all."""
        self._ledger = ledger
        self._alone = alone
        self._clock = clock
        self._waiting: dict[DeliveryId, set[_Answer]] = {}
        self._recent: OrderedDict[DeliveryId, Snapshot] = OrderedDict()
        self._stopped = False

    def settled(self, snapshot: Snapshot) -> None:
        if snapshot.status not in TERMINAL:
            return
        self._recent[snapshot.id] = snapshot
        if len(self._recent) > _REMEMBERED:
            self._recent.popitem(last=False)
        for answer in self._waiting.pop(snapshot.id, ()):
            _give(answer, snapshot)

    def let_go(self) -> None:
        """We are stopping: whoever waits is told what is known now; the delivery goes on later."""
        self._stopped = True
        for answer in [one for waiting in self._waiting.values() for one in waiting]:
            _give(answer, None)
        self._waiting.clear()

    async def refresh(self, ids: list[DeliveryId] | None = None) -> None:
        """Look again: another process settled these, or notices were missed for a while."""
        for one in list(self._waiting) if ids is None else [one for one in ids if one in self._waiting]:
            if snapshot := await self._ledger.get(one):
                self.settled(snapshot)

    async def wait(
        self, delivery_id: DeliveryId, timeout_seconds: float, *, look_first: bool = False
    ) -> Snapshot | None:
        """
        The outcome, or None when it has not come in time.

        `look_first` is for a delivery that may have been settled, here or elsewhere,
        before we began to listen.
        """
        if (recent := self._recent.get(delivery_id)) or self._stopped:
            return recent
        answer: _Answer = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(delivery_id, set()).add(answer)
        alarm = self._clock.ring(self._clock.now_us() + seconds(timeout_seconds), lambda: _give(answer, None))
        try:
            if look_first and not self._alone:
                with suppress(StoreUnavailable):  # then the settling itself will tell, or the time runs out
                    await self.refresh([delivery_id])
            return await answer
        finally:
            alarm.cancel()
            self._leave(delivery_id, answer)

    def _leave(self, delivery_id: DeliveryId, answer: _Answer) -> None:
        if waiting := self._waiting.get(delivery_id):
            waiting.discard(answer)
            if not waiting:
                del self._waiting[delivery_id]


def _give(answer: _Answer, snapshot: Snapshot | None) -> None:
    if not answer.done():
        answer.set_result(snapshot)
