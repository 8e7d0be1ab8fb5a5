"""One attempt at one delivery: pace, permit, mark, send, settle."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar

from postroom.delivery.model import Claim, Settlement, WaitKind, WaitReason
from postroom.delivery.reading.meter import DeliveryMeter
from postroom.delivery.rules.breaker import CircuitState, Permit, Report, report_of
from postroom.delivery.rules.policy import DeliveryPolicy, span
from postroom.delivery.rules.retry import (
    DEFAULT_THROTTLE_SECONDS,
    NOT_ASKED,
    DoubtStep,
    FindAnswer,
    after_call,
    answered,
    asked_in_vain,
    backoff_seconds,
    can_be_asked,
    delivered,
    failed,
    found,
    given_up,
    in_doubt,
    not_ahead,
    put_back,
    said,
    silent,
    throttled_by,
    without_doubt,
)
from postroom.delivery.rules.target import prepare_aside
from postroom.delivery.seams import Breakers, Limits
from postroom.delivery.store.ledger import DeliveryLedger
from postroom.delivery.store.limits import StoredCircuits
from postroom.kernel.running.clock import Clock, Overdue
from postroom.kernel.values.errors import (
    LONGEST_SECONDS,
    InternalError,
    OutcomeUncertain,
    OutOfDescriptors,
    PostroomError,
    ProviderThrottled,
    StoreUnavailable,
)
from postroom.kernel.values.ids import SECOND_US, DeliveryId, record, seconds, to_datetime
from postroom.message.channel import Channel, Reconcile
from postroom.message.delivery import TERMINAL, DeliveryEvent, Message, ProviderAnswer, Receipt

_GRACE_SECONDS: Final = 5.0
_PROBE_PATIENCE_SECONDS: Final = 1.0
_FIRST_PAUSE_SECONDS: Final = 0.05
_LONGEST_PAUSE_SECONDS: Final = 2.0
_STORE_AWAY: Final = WaitReason(kind=WaitKind.OURSELVES, detail="the store was away")
_Answer = TypeVar("_Answer")


class _FenceLost(Exception):
    """Somebody else owns the delivery now; stop without a word."""


@record
class Ready:
    """What has been settled for a row before it was written; with a `permit` it was written with the mark."""

    parts: Sequence[Any]
    permit: Permit | None


@record
class _Sent:
    """How far the calls of one attempt came, and when the last began; `put_back` when the rest must wait."""

    claim: Claim
    began_us: int
    receipt: Receipt = Receipt("")
    error: PostroomError | None = None
    put_back: Settlement | None = None


@record
class _Cleared:
    """What is to be sent now that the doubt about an earlier call is over, or as small as it will be."""

    claim: Claim
    parts: Sequence[Any]
    answer: ProviderAnswer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """`unwritten` are deliveries whose record waits for the store: no sweep may take them away meanwhile."""

    ledger: DeliveryLedger
    as_it_stands: Callable[[Claim], Awaitable[Claim]]
    channels: Mapping[str, Channel]
    limits: Limits
    breakers: Breakers
    circuits: StoredCircuits
    policy: DeliveryPolicy
    clock: Clock
    meter: DeliveryMeter
    dice: Callable[[], float]
    mint: Callable[[int], str]
    stopping: asyncio.Event
    unwritten: set[DeliveryId] = field(default_factory=set)
    overdue: Overdue = field(default_factory=Overdue)

    async def go_ahead(self, channel: str, address: str) -> Permit | None:
        """
        Leave to make a call as soon as its row stands; None when it has to wait for something else as well.

        Whoever has to wait asks for as much as whoever need not, or it would be stored before what came before it.
        """
        wait = await self.limits.reserve(channel, address, self.policy.spacing_seconds.get(channel, 0.0))
        permit = await self.breakers.acquire(channel)
        if permit.allowed and wait > 0:
            await self.unused(permit)
        return permit if permit.allowed and wait <= 0 else None

    async def unused(self, permit: Permit) -> None:
        await self._report(permit, None)

    async def attempt(self, claim: Claim, ready: Ready | None = None) -> Settlement | None:
        """
        Claim, mark, send, settle. A crash before the mark is safe to repeat; a crash between mark and settlement leaves
        an outcome nobody can know, and the sweep says so.

        Each is a commit of its own, but a row whose call can be made at once is written with claim and mark: the time
        in which a crash leaves doubt is the same, and nobody waits.
        """
        try:
            if ready is not None and ready.permit is not None:
                done = await self._send(claim, self.channels[claim.channel], ready.parts, ready.permit)
            else:
                done = await self._attempt(claim, ready)
        except _FenceLost:
            return None
        return await self._record(done)

    async def withdraw(self, claim: Claim) -> Settlement | None:
        """Nobody knows whether this row was written with its mark, but we know that nothing has left."""
        return await self._record(self._put_back(claim, DeliveryEvent.RELEASE, _STORE_AWAY))

    async def _record(self, done: Settlement) -> Settlement | None:
        try:
            written = await self.ledger.settle(done)
        except StoreUnavailable:
            written = await self._insist(done.claim, lambda: self._settled(done))
        if not written:
            return None
        if done.status in TERMINAL:
            await self.limits.release(done.claim.id)
        self.meter.settled(done)
        return done

    async def _attempt(self, claim: Claim, ready: Ready | None) -> Settlement:
        channel = self.channels[claim.channel]
        if self.stopping.is_set():
            return self._put_back(claim, DeliveryEvent.RELEASE, None)
        try:
            claim = await self.as_it_stands(claim)
            parts = ready.parts if ready and claim.revises is None else await self._parts(channel, claim)
        except StoreUnavailable as error:
            return self._put_back(claim, DeliveryEvent.RELEASE, _ours(error))
        except PostroomError as error:
            return self._failed(claim, error, self.clock.now_us())
        if waits := await self._pace(claim):
            return waits
        permit = await self.breakers.acquire(claim.channel)
        if not permit.allowed:
            return self._refused(claim, permit)
        if claim.doubtful_since_us is not None:
            return await self._clear_up(not_ahead(claim, self.clock.now_us()), channel, parts, permit)
        return await self._send(claim, channel, parts, permit)

    async def _clear_up(self, claim: Claim, channel: Channel, parts: Sequence[Any], permit: Permit) -> Settlement:
        """An earlier call left doubt, so the provider is asked before anything is sent again."""
        try:
            cleared = await self._cleared(claim, channel, parts)
        except BaseException:
            await self.unused(permit)
            raise
        if isinstance(cleared, Settlement):
            await self.unused(permit)
            return cleared
        return answered(await self._send(cleared.claim, channel, cleared.parts, permit), cleared.answer)

    async def _cleared(self, claim: Claim, channel: Channel, parts: Sequence[Any]) -> Settlement | _Cleared:
        started = self.clock.now_us()
        try:
            asked = await self._ask(claim, channel, parts)
        except (ProviderThrottled, OutOfDescriptors) as error:
            return await self._not_now(claim, error)
        now = self.clock.now_us()
        match in_doubt(claim, channel.capabilities, asked.presence, self.policy.retry, now):
            case DoubtStep.GO_ON if claim.parts_done + 1 < len(parts):
                return _Cleared(claim=await self._advance(claim, asked.receipt), parts=parts, answer=asked.answer)
            case DoubtStep.GO_ON:
                return found(claim, asked.receipt, asked.answer, started_us=started, now_us=now)
            case DoubtStep.SEND:
                return _Cleared(claim=without_doubt(claim, asked.presence), parts=parts, answer=asked.answer)
            case DoubtStep.ASK_AGAIN:
                pause = backoff_seconds(self.policy.retry, claim.attempts + 1, self.dice())
                return asked_in_vain(claim, asked.answer, started_us=started, now_us=now, delay_seconds=pause)
            case DoubtStep.REPEAT:
                return await self._repeated(replace(claim, possible_duplicate=True), channel, asked.answer)
            case DoubtStep.HOLD | DoubtStep.GIVE_UP as step:
                return given_up(
                    claim, step, asked.answer, started_us=started, now_us=now, dead_letter_id=self.mint(now)
                )

    async def _ask(self, claim: Claim, channel: Channel, parts: Sequence[Any]) -> FindAnswer:
        askable = can_be_asked(claim, channel.capabilities) and claim.parts_done < len(parts)
        if not askable or not isinstance(channel, Reconcile) or claim.doubtful_since_us is None:
            return NOT_ASKED
        part, deadline = parts[claim.parts_done], self.policy.asking_seconds(claim.channel)
        question = partial(channel.find, part, to_datetime(claim.doubtful_since_us))
        try:
            return said(await self._call("postroom.find", claim, question, deadline))
        except (ProviderThrottled, OutOfDescriptors):
            raise
        except PostroomError as error:
            return silent(error.message)

    async def _repeated(self, claim: Claim, channel: Channel, answer: ProviderAnswer | None) -> Settlement | _Cleared:
        try:
            return _Cleared(claim=claim, parts=await self._parts(channel, claim), answer=answer)
        except PostroomError as error:
            return self._failed(claim, error, self.clock.now_us())

    async def _not_now(self, claim: Claim, error: PostroomError) -> Settlement:
        """The question waits, and with it the delivery; neither costs an attempt."""
        wait = min(error.retry_after_seconds or DEFAULT_THROTTLE_SECONDS, LONGEST_SECONDS)
        if not isinstance(error, ProviderThrottled):
            return self._put_back(claim, DeliveryEvent.POSTPONE, _ours(error), wait)
        await self.limits.throttle(claim.channel, wait)
        return self._put_back(claim, DeliveryEvent.POSTPONE, throttled_by(error), wait)

    async def _parts(self, channel: Channel, claim: Claim) -> Sequence[Any]:
        mark = self.policy.mark_repeats and claim.possible_duplicate
        return await self.prepare(channel, claim.to_message(repeated=mark), claim)

    async def prepare(self, channel: Channel, message: Message, claim: Claim | None = None) -> Sequence[Any]:
        """Raises what a channel can never carry; at the door as well, where there is no claim yet."""
        try:
            return await prepare_aside(channel, message)
        except PostroomError:
            raise
        except Exception as error:  # its words may be the message's
            raise self._bug(channel.name, claim, error) from None

    async def _pace(self, claim: Claim) -> Settlement | None:
        """Wait for this address's turn; a long wait goes back to the ledger."""
        interval = self.policy.spacing_seconds.get(claim.channel, 0.0)
        while (wait := await self.limits.reserve(claim.channel, claim.address, interval)) > 0:
            if wait > self.policy.patience_seconds:
                return self._put_back(claim, DeliveryEvent.POSTPONE, WaitReason(kind=WaitKind.PACE), wait)
            if await self.clock.wait(self.stopping, self.clock.now_us() + seconds(wait)):
                return self._put_back(claim, DeliveryEvent.RELEASE, None)
        return None

    def _refused(self, claim: Claim, permit: Permit) -> Settlement:
        """Half-open probes end soon, so whoever found them all taken looks again soon."""
        longest = _PROBE_PATIENCE_SECONDS if permit.state is CircuitState.HALF_OPEN else math.inf
        wait = min(max(permit.retry_after_seconds, 0.05), longest)
        waiting = WaitReason(kind=WaitKind.CIRCUIT, detail=str(permit.state))
        return self._put_back(claim, DeliveryEvent.POSTPONE, waiting, wait)

    async def _send(self, claim: Claim, channel: Channel, parts: Sequence[Any], permit: Permit) -> Settlement:
        sent: _Sent | None = None
        try:
            if not claim.sending:  # or it was written with the row
                if unsent := await self._mark(claim):
                    return unsent
            elif self.stopping.is_set():
                return self._put_back(claim, DeliveryEvent.RELEASE, None)
            started = self.clock.now_us()
            sent = await self._send_parts(claim, channel, parts, started)
        finally:
            await self._report(permit, sent)
        if sent.put_back is not None:
            return sent.put_back
        if sent.error is None:
            return delivered(sent.claim, sent.receipt, started_us=started, now_us=self.clock.now_us())
        if isinstance(sent.error, OutOfDescriptors):
            wait = sent.error.retry_after_seconds or 0.0
            return self._put_back(sent.claim, DeliveryEvent.POSTPONE, _ours(sent.error), wait)
        if isinstance(sent.error, ProviderThrottled):
            await self.limits.throttle(claim.channel, sent.error.retry_after_seconds or DEFAULT_THROTTLE_SECONDS)
        return self._failed(sent.claim, sent.error, started, sent.began_us)

    async def _mark(self, claim: Claim) -> Settlement | None:
        try:
            if not await self.ledger.mark_sending(claim, **self._lease(claim)):
                raise _FenceLost
        except StoreUnavailable:  # the mark may stand, but we know that nothing has left
            return self._put_back(claim, DeliveryEvent.RELEASE, _STORE_AWAY)
        return None

    async def _send_parts(self, claim: Claim, channel: Channel, parts: Sequence[Any], began: int) -> _Sent:
        """Each part is on record before the next one leaves, so a retry never repeats one."""
        receipt = Receipt("")
        deadline = self.policy.timeout_seconds(claim.channel, claim.file_bytes)
        for place in range(claim.parts_done, len(parts)):
            try:
                send = partial(self._call, "postroom.send", claim, partial(channel.send, parts[place]), deadline)
                receipt = receipt.following if receipt.also else await send()
            except PostroomError as error:
                return _Sent(claim=claim, began_us=began, error=error)
            if place + 1 < len(parts):
                claim = await self._advance(claim, receipt)
                if not receipt.also and (waits := await self._pace(claim)):
                    return _Sent(claim=claim, began_us=began, put_back=waits)
                began = self.clock.now_us()
        return _Sent(claim=claim, began_us=began, receipt=receipt)

    async def _call(
        self, name: str, claim: Claim, call: Callable[[float], Awaitable[_Answer]], deadline: float
    ) -> _Answer:
        attributes = {"postroom.channel": claim.channel, "postroom.delivery_id": claim.id}
        with span(name, attributes, claim.trace_id) as sending:
            try:
                return await self.overdue.limit(call(deadline), deadline + _GRACE_SECONDS)
            except PostroomError as error:
                sending.set_attribute("error.type", str(error.error_class))
                raise
            except TimeoutError:
                raise OutcomeUncertain(f"{claim.channel} did not answer in time") from None
            except Exception as error:
                raise self._bug(claim.channel, claim, error) from error

    def _bug(self, channel: str, claim: Claim | None, error: Exception) -> InternalError:
        self.meter.bug(claim, error)
        return InternalError(f"the {channel} channel failed ({type(error).__name__})")

    async def _report(self, permit: Permit, sent: _Sent | None) -> None:
        """A call that was not made says nothing, and what cannot be saved must not undo what was sent."""
        if sent is None:
            circuit = await self.breakers.report(permit, Report.NEUTRAL)
        elif sent.error is None:
            circuit = await self.breakers.report(permit, Report.SUCCESS)
        else:
            told, reason = report_of(sent.error), sent.error.message
            circuit = await self.breakers.report(permit, told, reason=reason, error_class=str(sent.error.error_class))
        if circuit.generation != permit.generation:
            with suppress(StoreUnavailable):
                await self.circuits.save(permit.channel, circuit, self.clock.now_us())

    async def _advance(self, claim: Claim, receipt: Receipt) -> Claim:
        try:
            moved = await self.ledger.advance(claim, receipt, **self._lease(claim))
        except StoreUnavailable:
            moved = await self._insist(claim, lambda: self.ledger.advance(claim, receipt, **self._lease(claim)))
        if not moved:
            raise _FenceLost
        return replace(claim, parts_done=claim.parts_done + 1, doubtful_since_us=None)

    async def _settled(self, done: Settlement) -> bool:
        """After an outage a False may mean that it was written, and only the answer was lost."""
        if await self.ledger.settle(done):
            return True
        snapshot = await self.ledger.get(done.claim.id)
        return snapshot is not None and (snapshot.status, snapshot.attempts) == (done.status, done.attempts)

    async def _insist(self, claim: Claim, write: Callable[[], Awaitable[bool]]) -> bool:
        """The store was away. A call cannot be taken back, so the record of it is worth trying for, until it stands."""
        pause = _FIRST_PAUSE_SECONDS
        self.unwritten.add(claim.id)
        try:
            while True:
                await self.clock.wait(asyncio.Event(), self.clock.now_us() + seconds(pause))
                pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
                with suppress(StoreUnavailable):
                    return await write()
        finally:
            self.unwritten.discard(claim.id)

    def _lease(self, claim: Claim) -> dict[str, int]:
        now, length = self.clock.now_us(), self.policy.sending_lease_seconds(claim.channel, claim.file_bytes)
        return {"now_us": now, "lease_until_us": now + round(length * SECOND_US)}

    def _failed(self, claim: Claim, error: PostroomError, started_us: int, began_us: int | None = None) -> Settlement:
        now, can = self.clock.now_us(), self.channels[claim.channel].capabilities
        return failed(
            claim,
            error,
            after_call(claim, error, can, self.policy.retry, self.dice()),
            started_us=started_us,
            began_us=began_us,
            now_us=now,
            dead_letter_id=self.mint(now),
            can=can,
        )

    def _put_back(
        self, claim: Claim, event: DeliveryEvent, waiting: WaitReason | None, delay_seconds: float = 0.0
    ) -> Settlement:
        return put_back(claim, event, now_us=self.clock.now_us(), delay_seconds=delay_seconds, waiting=waiting)


def _ours(error: PostroomError) -> WaitReason:
    return WaitReason(kind=WaitKind.OURSELVES, detail=error.message)
