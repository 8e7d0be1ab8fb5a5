"""One attempt at one delivery: pace, permit, mark, send, settle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from opentelemetry import trace

from postroom.delivery.breaker import report_of, wait_seconds
from postroom.delivery.policy import DeliveryPolicy
from postroom.delivery.retry import after_failure
from postroom.delivery.settlement import delivered, failed, put_back
from postroom.domain.breaker import Permit, Report
from postroom.domain.delivery import TERMINAL, Event, Receipt
from postroom.domain.errors import (
    InternalError,
    OutcomeUncertain,
    PostroomError,
    ProviderThrottled,
    StoreUnavailable,
    ValidationError,
)
from postroom.domain.ledger import Claim, Settlement
from postroom.domain.time import SECOND_US, seconds
from postroom.ports import Breakers, Channel, CircuitRecord, Clock, Ledger, Limits, Meter, Pace

_GRACE_SECONDS = 5.0  # a channel keeps its own deadline; this one only catches a channel that does not
_tracer = trace.get_tracer("postroom.delivery")


class FenceLost(Exception):
    """Somebody else owns the delivery now; stop without a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    ledger: Ledger
    channels: Mapping[str, Channel]
    limits: Limits
    pace: Pace
    breakers: Breakers
    circuits: CircuitRecord
    policy: DeliveryPolicy
    clock: Clock
    meter: Meter
    dice: Callable[[], float]
    mint: Callable[[int], str]
    stopping: asyncio.Event

    async def attempt(self, claim: Claim) -> Settlement | None:
        """
        Three commits: the claim before, the mark, the settlement. A crash before
        the mark is safe to repeat; a crash between mark and settlement leaves an
        outcome nobody can know, and the sweep says so.
        """
        try:
            done = await self._attempt(claim)
            await self._until_stored(partial(self.ledger.settle, done))
        except FenceLost:
            return None
        if done.status in TERMINAL:
            await self.limits.release(claim.id)
        self.meter.settled(done)
        return done

    async def _attempt(self, claim: Claim) -> Settlement:
        channel = self.channels[claim.channel]
        now = self.clock.now_us()
        try:
            parts = channel.prepare(claim.to_message())
        except ValidationError as error:
            return self._failed(claim, error, now)
        if waits := await self._pace(claim):
            return waits
        permit = await self.breakers.acquire(claim.channel)
        if not permit.allowed:
            reason = f"the circuit of {claim.channel} is {permit.state}"
            return self._put_back(claim, Event.POSTPONE, reason, wait_seconds(permit))
        return await self._send(claim, channel, parts, permit)

    async def _pace(self, claim: Claim) -> Settlement | None:
        """Wait for this address's turn; a long wait goes back to the ledger."""
        interval = self.policy.spacing_seconds.get(claim.channel, 0.0)
        while (wait := await self.pace.reserve(claim.channel, claim.address, interval)) > 0:
            if wait > self.policy.patience_seconds:
                return self._put_back(claim, Event.POSTPONE, f"{claim.channel} asked us to wait", wait)
            if await self.clock.wait(self.stopping, self.clock.now_us() + seconds(wait)):
                return self._put_back(claim, Event.RELEASE, None)
        return None

    async def _send(self, claim: Claim, channel: Channel, parts: Sequence[Any], permit: Permit) -> Settlement:
        result, error = Report.NEUTRAL, None  # until there was a call, nothing is known about the provider
        try:
            if unsent := await self._mark(claim):
                return unsent
            started = self.clock.now_us()
            claim, receipt, error = await self._send_parts(claim, channel, parts)
            result = report_of(error)
        finally:
            await self._report(permit, result, error)
        now = self.clock.now_us()
        if error is None:
            return delivered(claim, receipt, started_us=started, now_us=now)
        if isinstance(error, ProviderThrottled):
            await self.pace.throttle(claim.channel, error.retry_after_seconds or 1.0)
        return self._failed(claim, error, started)

    async def _mark(self, claim: Claim) -> Settlement | None:
        try:
            if not await self.ledger.mark_sending(claim, **self._lease(claim)):
                raise FenceLost
        except StoreUnavailable:  # the mark may stand, but we know that nothing has left
            return self._put_back(claim, Event.RELEASE, "the store was away")
        return None

    async def _send_parts(
        self, claim: Claim, channel: Channel, parts: Sequence[Any]
    ) -> tuple[Claim, str, PostroomError | None]:
        """Each part is on record before the next one leaves, so a retry never repeats one."""
        receipt = ""
        for place in range(claim.parts_done, len(parts)):
            try:
                sent = await self._call(channel, parts[place], claim)
            except PostroomError as error:
                return claim, receipt, error
            receipt = sent.provider_id
            if place + 1 < len(parts):
                await self._until_stored(partial(self._advance, claim, sent))
                claim = replace(claim, parts_done=place + 1)
                await self._space(claim)
        return claim, receipt, None

    async def _space(self, claim: Claim) -> None:
        interval = self.policy.spacing_seconds.get(claim.channel, 0.0)
        wait = await self.pace.reserve(claim.channel, claim.address, interval)
        if 0 < wait <= self.policy.patience_seconds:
            await self.clock.wait(asyncio.Event(), self.clock.now_us() + seconds(wait))

    async def _call(self, channel: Channel, part: Any, claim: Claim) -> Any:
        deadline = self.policy.timeout_seconds(claim.channel)
        attributes = {"postroom.channel": claim.channel, "postroom.delivery_id": claim.id}
        with _tracer.start_as_current_span("postroom.send", attributes=attributes, record_exception=False) as span:
            try:
                async with asyncio.timeout(deadline + _GRACE_SECONDS):
                    return await channel.send(part, deadline)
            except PostroomError as error:
                span.set_attribute("error.type", str(error.error_class))
                raise
            except TimeoutError:
                raise OutcomeUncertain(f"{claim.channel} did not answer in time") from None
            except Exception as error:
                self.meter.bug(claim, error)
                raise InternalError(f"the {claim.channel} channel failed ({type(error).__name__})") from error

    async def _report(self, permit: Permit, result: Report, error: PostroomError | None) -> None:
        circuit = await self.breakers.report(
            permit,
            result,
            reason=error.message if error else None,
            error_class=str(error.error_class) if error else None,
        )
        if circuit.generation != permit.generation:
            with suppress(StoreUnavailable):  # a circuit forgotten over a restart costs less than this call's outcome
                await self.circuits.save(permit.channel, circuit, self.clock.now_us())

    async def _advance(self, claim: Claim, sent: Receipt) -> bool:
        return await self.ledger.advance(claim, sent, **self._lease(claim))

    async def _until_stored(self, write: Callable[[], Awaitable[bool]]) -> None:
        """The call cannot be taken back, so the record of it is worth trying for."""
        pause = 0.05
        while True:
            try:
                if not await write():
                    raise FenceLost
                return
            except StoreUnavailable:
                await self.clock.wait(asyncio.Event(), self.clock.now_us() + seconds(pause))
                pause = min(pause * 2, 2.0)

    def _lease(self, claim: Claim) -> dict[str, int]:
        now = self.clock.now_us()
        return {
            "now_us": now,
            "lease_until_us": now + round(self.policy.sending_lease_seconds(claim.channel) * SECOND_US),
        }

    def _failed(self, claim: Claim, error: PostroomError, started_us: int) -> Settlement:
        now = self.clock.now_us()
        verdict = after_failure(
            self.policy.retry,
            attempts=claim.attempts + 1,
            error=error,
            dice=self.dice(),
            on_uncertain=claim.on_uncertain,
            priority=claim.priority,
        )
        return failed(claim, error, verdict, started_us=started_us, now_us=now, dead_letter_id=self.mint(now))

    def _put_back(self, claim: Claim, event: Event, reason: str | None, delay_seconds: float = 0.0) -> Settlement:
        return put_back(claim, event, now_us=self.clock.now_us(), delay_seconds=delay_seconds, reason=reason)
