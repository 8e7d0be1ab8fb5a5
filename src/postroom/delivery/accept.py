"""From a valid envelope to a stored delivery, or to the reason why not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from postroom.delivery import breaker, limits
from postroom.delivery.arrival import Arrival
from postroom.delivery.dispatcher import Dispatcher
from postroom.delivery.idempotency import Identity, identify
from postroom.delivery.lineage import span, trace_id_for_delivery
from postroom.delivery.pipeline import Pipeline, Ready
from postroom.delivery.policy import DeliveryPolicy
from postroom.delivery.target import Target, resolve_target
from postroom.domain.breaker import Permit
from postroom.domain.delivery import Failure, Status
from postroom.domain.errors import (
    FieldError,
    InternalError,
    PostroomError,
    StoreUnavailable,
    TargetUnavailable,
    ValidationError,
)
from postroom.domain.ids import DeliveryId
from postroom.domain.ledger import Claim, Inserted, Lease, NewDelivery, Refusal, Snapshot
from postroom.domain.limits import Admission
from postroom.domain.notify import Notify
from postroom.domain.record import record
from postroom.domain.time import SECOND_US
from postroom.ports import AddressBook, Breakers, Channel, Clock, Gate, Ledger, Limits, Meter

_document = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_MARK_GOOD_FOR_US = 5 * SECOND_US  # what is left of a lease that was asked for earlier may not outlast the call


@record
class Accepted:
    """With a claim, this process works on it, so its settling will be heard here first; `permit` if it is marked."""

    snapshot: Snapshot
    created: bool
    claim: Claim | None = None
    permit: Permit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    ledger: Ledger
    channels: Mapping[str, Channel]
    book: AddressBook
    limits: Limits
    breakers: Breakers
    policy: DeliveryPolicy
    pipeline: Pipeline
    dispatcher: Dispatcher
    clock: Clock
    meter: Meter
    mint: Callable[[int], str]
    gate: Gate | None = None
    _arriving: dict[str, Arrival[Accepted]] = field(default_factory=dict)

    async def accept(self, notify: Notify, *, request_id: str) -> Accepted:
        """
        Raises one of our errors when nothing was stored.

        A caller who hangs up in the middle cancels nothing: the work runs in a task
        of its own, which requests with the same key that arrive together share.
        """
        with span("postroom.accept", {"postroom.channel": notify.channel}):
            channel = self._channel(notify.channel)
            target = await resolve_target(notify, channel, self.book)
            identity = identify(notify, request_id=request_id, target_identity=target.identity)
            new = self._new(notify, target, identity, request_id)
            parts = prepared(channel, new, self.meter)
            if arrival := self._arriving.get(identity.key):
                accepted = _same(await arrival.heard(), new)
                self.meter.repeated(accepted.snapshot)
                return accepted
            arrival = self._arriving[identity.key] = Arrival()
            arrival.task = asyncio.create_task(self._arrive(arrival, identity, new, parts))
            return await arrival.heard()

    def _channel(self, name: str) -> Channel:
        if channel := self.channels.get(name):
            return channel
        raise TargetUnavailable(f"no credentials for {name} are set")

    async def _arrive(
        self, arrival: Arrival[Accepted], identity: Identity, new: NewDelivery, parts: Sequence[Any]
    ) -> None:
        """Whoever asked is told as soon as it is stored; what is ours to send is sent in the same breath."""
        try:
            accepted = await (self._store(new) if identity.fresh else self._find_or_store(identity, new))
        except BaseException as error:
            arrival.fail(error)
            if isinstance(error, Exception):
                return
            raise
        finally:
            del self._arriving[identity.key]
        arrival.tell(accepted)
        if accepted.claim is not None:
            await self.dispatcher.carry(accepted.claim, Ready(parts=parts, permit=accepted.permit))

    async def _find_or_store(self, identity: Identity, new: NewDelivery) -> Accepted:
        if found := await self.ledger.find(identity.key):
            self.meter.repeated(found)
            return _same(Accepted(snapshot=found, created=False), new)
        return await self._store(new)

    async def _store(self, new: NewDelivery) -> Accepted:
        admission = await self._admit(new)
        try:
            inserted, permit = await self._insert(new)
        except BaseException:
            await self.limits.refund(admission)
            raise
        if not inserted.created:
            await self.limits.refund(admission)
            self.meter.repeated(inserted.snapshot)
            return _same(Accepted(snapshot=inserted.snapshot, created=False), new)
        self.meter.accepted(new)
        if inserted.snapshot.status is Status.AWAITING_APPROVAL:
            await self.limits.release(admission.lease_id)  # asking costs tokens, waiting takes no place in flight
        elif inserted.claim is None:
            self.dispatcher.left_pending(inserted.snapshot.id)
        return Accepted(snapshot=inserted.snapshot, created=True, claim=inserted.claim, permit=permit)

    async def _insert(self, new: NewDelivery) -> tuple[Inserted, Permit | None]:
        if self.gate is not None and not await self.gate.passes(new):
            return await self.gate.park(new), None
        if not self.dispatcher.reserve(new.channel):
            return await self._write(new, None), None
        try:
            return await self._insert_ours(new)
        finally:
            self.dispatcher.unreserve(new.channel)

    async def _insert_ours(self, new: NewDelivery) -> tuple[Inserted, Permit | None]:
        """Written with the mark when nothing else stands between it and its call."""
        permit = await self.pipeline.go_ahead(new.channel, new.address)
        marked, asked_at_us = False, self.clock.now_us()
        try:
            inserted = await self._write(new, self.dispatcher.lease(new.channel, sending=permit is not None))
            if self.clock.now_us() - asked_at_us > _MARK_GOOD_FOR_US:
                inserted = _unmarked(inserted)
            marked = inserted.claim is not None and inserted.claim.sending
        except StoreUnavailable:
            if permit is not None:
                self.dispatcher.withdraw(new.claimed(sending=True))
            raise
        finally:
            if permit is not None and not marked:
                await self.pipeline.unused(permit)
        return inserted, permit if marked else None

    async def _write(self, new: NewDelivery, lease: Lease | None) -> Inserted:
        try:
            return await self.ledger.insert(new, lease)
        except StoreUnavailable:  # it may be stored and only the answer lost; the same row cannot be stored twice
            return await self.ledger.insert(new, lease)

    async def _admit(self, new: NewDelivery) -> Admission:
        asked = limits.admission(
            self.policy.limits, lease_id=new.id, channel=new.channel, intent=new.intent, address=new.address
        )
        circuit = await self.breakers.circuit(new.channel)
        error: PostroomError | None = breaker.refusal(circuit, self.policy.breaker, new.channel, self.clock.now_us())
        error = error or limits.refusal(await self.limits.admit(asked), new.channel)
        if error is not None:
            await self._refuse(new, error)
            raise error
        return asked

    async def _refuse(self, new: NewDelivery, error: PostroomError) -> None:
        refusal = Refusal(
            id=new.id,
            idempotency_key=new.idempotency_key,
            request_id=new.request_id,
            origin_butler=new.origin_butler,
            channel=new.channel,
            intent=new.intent,
            target_identity=new.target_identity,
            failure=Failure(error.error_class, error.message, error.retry_after_seconds),
            limit_type=getattr(error, "limit_type", None) or "circuit",
            trace_id=new.trace_id,
            created_at_us=new.created_at_us,
        )
        self.meter.refused(refusal)
        with suppress(StoreUnavailable):  # the reason stands whether or not it could be noted
            await self.ledger.refuse(refusal)

    def _new(self, notify: Notify, target: Target, identity: Identity, request_id: str) -> NewDelivery:
        now = self.clock.now_us()
        delivery_id = DeliveryId(self.mint(now))
        return NewDelivery(
            id=delivery_id,
            idempotency_key=identity.key,
            fingerprint=identity.fingerprint,
            request_id=request_id,
            origin_butler=notify.origin_butler,
            channel=notify.channel,
            intent=notify.intent,
            target_identity=target.identity,
            address=target.address,
            thread=target.thread,
            message=notify.message,
            subject=notify.subject,
            emoji=notify.emoji,
            envelope=_document(dict(notify.document)),
            priority=notify.priority,
            on_uncertain=self.policy.uncertain(notify.channel, notify.on_uncertain),
            created_at_us=now,
            trace_id=trace_id_for_delivery(delivery_id),
        )


def _unmarked(inserted: Inserted) -> Inserted:
    """To be marked anew, with a whole lease, and only if it is still ours."""
    return replace(inserted, claim=inserted.claim and replace(inserted.claim, sending=False))


def prepared(channel: Channel, new: NewDelivery, meter: Meter) -> Sequence[Any]:
    """What a channel can never carry is refused at the door."""
    try:
        return channel.prepare(new.to_message())
    except PostroomError:
        raise
    except Exception as error:  # its words may be the message's
        meter.bug(None, error)
        raise InternalError(f"the {new.channel} channel failed ({type(error).__name__})") from None


def _same(accepted: Accepted, new: NewDelivery) -> Accepted:
    """One key, one message: the same key with other content is a mistake worth telling."""
    if accepted.snapshot.fingerprint != new.fingerprint:
        raise ValidationError.of([FieldError("idempotency_key", "was already used for another message", "key_reused")])
    if accepted.created:
        return replace(accepted, created=False)
    return accepted
