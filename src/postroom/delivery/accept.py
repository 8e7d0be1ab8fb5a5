"""The one way out: a message becomes a stored delivery, or the reason why not; and waiting for its outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from postroom.delivery.afterwards.store import StoredSent
from postroom.delivery.dispatcher import Dispatcher, Outcomes
from postroom.delivery.files.taking import CarriedFiles, check_fit
from postroom.delivery.model import Claim, Inserted, Lease, NewDelivery, Refusal, Snapshot, outcome_of
from postroom.delivery.pipeline import Pipeline, Ready
from postroom.delivery.reading.meter import DeliveryMeter
from postroom.delivery.rules import breaker, limits
from postroom.delivery.rules.breaker import Circuit, CircuitState, Permit
from postroom.delivery.rules.limits import Admission, AdmissionDecision
from postroom.delivery.rules.policy import (
    DeliveryDraft,
    DeliveryPolicy,
    Identity,
    envelope_text,
    identify,
    span,
    trace_id_for_delivery,
)
from postroom.delivery.rules.target import (
    SubjectOf,
    Target,
    in_own_order,
    plain_target,
    resolve_revision,
    resolve_target,
    revision_target,
    signed,
    titled,
)
from postroom.delivery.seams import AddressBook, Breakers, Considers, Gate, Limits
from postroom.delivery.store.ledger import DeliveryLedger
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import (
    FieldError,
    InternalError,
    PostroomError,
    StoreUnavailable,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.ids import SECOND_US, DeliveryId, record
from postroom.message.channel import Channel, KnownChannels, Style
from postroom.message.delivery import ADDRESS_BOUNCED, TERMINAL, DeliveryFailure, Intent, OnUncertain, Status
from postroom.message.markup import Revision
from postroom.message.outgoing import ASKER as APPROVALS
from postroom.message.outgoing import Outcome, Outgoing, refused
from postroom.message.wishes import AUTO
from postroom.people.model import CONFIRMATION_ORIGIN
from postroom.people.store.rows import StoredClosedAddresses

_MARK_GOOD_FOR_US = 5 * SECOND_US  # what is left of a lease that was asked for earlier may not outlast the call


@record
class Accepted:
    """With a claim, this process works on it, so its settling will be heard here first; `permit` if it is marked."""

    snapshot: Snapshot
    created: bool
    claim: Claim | None = None
    permit: Permit | None = None
    parts: Sequence[Any] = ()


@record
class Judgement:
    """Whether the circuit and the limits let a draft in; `decision` is missing where the circuit alone said no."""

    asked: Admission
    circuit: Circuit
    decision: AdmissionDecision | None
    error: PostroomError | None


@record
class Forecast:
    """What acceptance would do with a draft."""

    draft: DeliveryDraft
    known: Snapshot | None
    judgement: Judgement
    needs_approval: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    ledger: DeliveryLedger
    channels: Mapping[str, Channel]
    book: AddressBook
    sent: StoredSent
    limits: Limits
    breakers: Breakers
    policy: DeliveryPolicy
    pipeline: Pipeline
    dispatcher: Dispatcher
    clock: Clock
    meter: DeliveryMeter
    mint: Callable[[int], str]
    gate: Gate | None = None
    files: CarriedFiles | None = None
    closed: StoredClosedAddresses | None = None
    subject_of: SubjectOf | None = None
    _arriving: dict[str, Arrival[Accepted]] = field(default_factory=dict)

    async def accept(self, draft: DeliveryDraft) -> Accepted:
        """
        Raises one of our errors when nothing was stored.

        A caller who hangs up in the middle cancels nothing: the work runs in a task
        of its own, which requests with the same key that arrive together share.
        """
        with span("postroom.accept", {"postroom.channel": draft.new.channel}):
            return await self._accept(draft)

    async def _accept(self, draft: DeliveryDraft) -> Accepted:
        if arrival := self._arriving.get(draft.identity.key):
            accepted = _same(await arrival.heard(), draft.new)
            self.meter.repeated(accepted.snapshot)
            return accepted
        arrival = self._arriving[draft.identity.key] = Arrival()
        arrival.task = asyncio.create_task(self._arrive(arrival, draft))
        self.dispatcher.join(arrival.task)
        return await arrival.heard()

    async def forecast(self, draft: DeliveryDraft) -> Forecast:
        """The same steps, up to the first one that would leave a mark; raises what `accept` would raise before it."""
        draft = await self.read(draft)
        known = None if draft.identity.fresh else await self.ledger.find(draft.identity.key)
        if known is None:
            if self.closed is not None:
                await self._refuse_closed(draft.new, self.closed)
            if draft.new.attachments:
                await self._files().check(draft.new)
        else:
            _same(Accepted(snapshot=known, created=False), draft.new)
        return Forecast(
            draft=draft,
            known=known,
            judgement=await self._judge(draft.new, consume=False),
            needs_approval=self.gate is not None and not await self.gate.passes(draft.new),
        )

    def style(self, channel: str) -> Style:
        return self._channel(channel).capabilities.style

    async def check(self, new: NewDelivery) -> None:
        """Raises ValidationError for what its channel can never carry."""
        await self.pipeline.prepare(self._channel(new.channel), new.to_message())

    async def charge(self, new: NewDelivery, lease_id: str) -> None:
        """What asks people something counts as a message does; nothing is sent, so no place in flight is kept."""
        asked = limits.admission(
            self.policy.limits,
            lease_id=lease_id,
            channel=new.channel,
            intent=Intent.REPLY,
            address=new.address,
            sender=new.agent,
            urgent=new.urgent,
        )
        if error := limits.refusal(await self.limits.admit(asked), new.channel):
            raise error
        await self.limits.release(lease_id)

    async def read(self, draft: DeliveryDraft) -> DeliveryDraft:
        """With its text read by its channel; raises what `accept` would raise for what can never be sent."""
        return replace(draft, parts=await self._parts(draft))

    async def _parts(self, draft: DeliveryDraft) -> Sequence[Any]:
        if draft.parts is not None:
            return draft.parts
        return await self.pipeline.prepare(self._channel(draft.new.channel), draft.new.to_message())

    async def placed(self, outgoing: Outgoing) -> Outgoing:
        """On the channel it goes out on."""
        return await in_own_order(outgoing, self.book, self.channels)

    async def draft(self, asked: Outgoing, request_id: str) -> DeliveryDraft:
        """What would be stored, with its text not read yet; raises what `accept` would raise until then."""
        outgoing = await self.placed(asked) if asked.channel == AUTO else asked
        channel = self._channel(outgoing.channel)
        revises: Revision | None = None
        if about := outgoing.revises or outgoing.follows:
            sent = await resolve_revision(outgoing, about, self.sent.sent, self.ledger.get)
            target, revises = revision_target(outgoing, sent, channel)
        else:
            target = plain_target(outgoing, channel) or await resolve_target(outgoing, channel, self.book)
        identity = identify(outgoing, request_id=request_id, target_identity=target.identity)
        if outgoing.attachments:
            check_fit([one.size for one in outgoing.attachments], channel.name, channel.capabilities)
        new = self._new(outgoing, channel, target, identity, request_id, revises)
        if new.intent is Intent.REPLY:
            new = await titled(new, channel, self.subject_of)
        return DeliveryDraft(outgoing=outgoing, new=new, identity=identity)

    def _channel(self, name: str) -> Channel:
        if channel := self.channels.get(name):
            return channel
        raise TargetUnavailable(f"no credentials for {name} are set")

    async def _arrive(self, arrival: Arrival[Accepted], draft: DeliveryDraft) -> None:
        """Whoever asked is told as soon as it is stored; what is ours to send is sent in the same breath."""
        try:
            accepted = await (self._store(draft) if draft.identity.fresh else self._find_or_store(draft))
        except BaseException as error:
            arrival.fail(error)
            if isinstance(error, Exception):
                return
            raise
        finally:
            del self._arriving[draft.identity.key]
        arrival.tell(accepted)
        if accepted.claim is not None:
            await self.dispatcher.carry(accepted.claim, Ready(parts=accepted.parts, permit=accepted.permit))

    async def _find_or_store(self, draft: DeliveryDraft) -> Accepted:
        if found := await self.ledger.find(draft.identity.key):
            self.meter.repeated(found)
            return _same(Accepted(snapshot=found, created=False), draft.new)
        return await self._store(draft)

    async def _store(self, draft: DeliveryDraft) -> Accepted:
        """Charged before its text is read, where nobody had to read it before."""
        new = draft.new
        if self.closed is not None:
            await self._refuse_closed(new, self.closed)
        judgement = await self._judge(new, consume=True)
        if judgement.error is not None:
            await self._refuse(new, judgement.error)
            raise judgement.error
        try:
            parts = await self._parts(draft)
            inserted, permit = await self._insert(new)
        except BaseException:
            await self.limits.refund(judgement.asked)
            raise
        if not inserted.created:
            await self.limits.refund(judgement.asked)
            self.meter.repeated(inserted.snapshot)
            return _same(Accepted(snapshot=inserted.snapshot, created=False), new)
        self.meter.accepted(new)
        if inserted.snapshot.status is Status.AWAITING_APPROVAL:
            await self.limits.release(new.id)  # asking costs tokens, waiting takes no place in flight
        elif inserted.claim is None:
            self.dispatcher.wake()
        return Accepted(snapshot=inserted.snapshot, created=True, claim=inserted.claim, permit=permit, parts=parts)

    async def _insert(self, new: NewDelivery) -> tuple[Inserted, Permit | None]:
        if new.attachments:
            await self._files().claim(new)
        if self.gate is not None and not await self.gate.passes(new):
            return await self.gate.park(new), None
        return await self._write(new)

    async def _write(self, new: NewDelivery) -> tuple[Inserted, Permit | None]:
        """With a permit the row carries the mark, and the call is the caller's to make."""
        if not self.dispatcher.reserve(new.channel):
            return await self._put(new, None), None
        permit, marked = None, False
        try:
            if new.revises is None:  # else what it changes is looked at once more before it leaves
                permit = await self.pipeline.go_ahead(new.channel, new.address)
            asked_at_us = self.clock.now_us()
            lease = self.dispatcher.lease(new, asked_at_us, sending=permit is not None)
            inserted = await self._put(new, lease)
            if self.clock.now_us() - asked_at_us > _MARK_GOOD_FOR_US:
                # To be marked anew, with a whole lease, and only if it is still ours.
                inserted = replace(inserted, claim=inserted.claim and replace(inserted.claim, sending=False))
            marked = inserted.claim is not None and inserted.claim.sending
        except StoreUnavailable:
            if permit is not None:
                self.dispatcher.withdraw(new.claimed(sending=True))
            raise
        finally:
            self.dispatcher.unreserve(new.channel)
            if permit is not None and not marked:
                await self.pipeline.unused(permit)
        return inserted, permit if marked else None

    async def _put(self, new: NewDelivery, lease: Lease | None) -> Inserted:
        try:
            return await self.ledger.insert(new, lease)
        except StoreUnavailable:  # it may be stored and only the answer lost; the same row cannot be stored twice
            return await self.ledger.insert(new, lease)

    def _files(self) -> CarriedFiles:
        if self.files is None:
            raise InternalError("this household has no place for files")
        return self.files

    async def _refuse_closed(self, new: NewDelivery, addresses: StoredClosedAddresses) -> None:
        """An address may be asked again whether it is a person's own, and they may be answered where they write."""
        if not self.channels[new.channel].capabilities.comes_back:
            return
        if new.intent is not Intent.SEND or new.origin_butler == CONFIRMATION_ORIGIN:
            return
        if found := await addresses.closed(new.channel, new.address):
            raise ValidationError.of([FieldError("delivery.recipient", found.sentence, ADDRESS_BOUNCED)])

    async def _judge(self, new: NewDelivery, *, consume: bool) -> Judgement:
        """A refusal by the circuit takes nothing from the limits; who only asks sees both."""
        asked = limits.admission(
            self.policy.limits,
            lease_id=new.id,
            channel=new.channel,
            intent=new.intent if new.revises is None else Intent.REPLY,  # no new message, so a reply's price
            address=new.address if new.agent != APPROVALS else None,  # its one card is no share of what they are sent
            sender=new.agent,
            urgent=new.urgent,
        )
        circuit = await self.breakers.circuit(new.channel)
        error: PostroomError | None = breaker.refusal(circuit, self.policy.breaker, new.channel, self.clock.now_us())
        decision: AdmissionDecision | None = None
        if error is None or not consume:
            decision = await self.limits.admit(asked, consume=consume)
            error = error or limits.refusal(decision, new.channel)
        return Judgement(asked=asked, circuit=circuit, decision=decision, error=error)

    async def _refuse(self, new: NewDelivery, error: PostroomError) -> None:
        refusal = Refusal(
            id=new.id,
            idempotency_key=new.idempotency_key,
            request_id=new.request_id,
            origin_butler=new.origin_butler,
            channel=new.channel,
            intent=new.intent,
            target_identity=new.target_identity,
            failure=DeliveryFailure(error.error_class, error.message, error.retry_after_seconds),
            limit_type=error.limit_type or "circuit",
            trace_id=new.trace_id,
            created_at_us=new.created_at_us,
            handed_by=new.handed_by,
        )
        self.meter.refused(refusal)
        with suppress(StoreUnavailable):  # the reason stands whether or not it could be noted
            await self.ledger.refuse(refusal)

    def _new(
        self,
        outgoing: Outgoing,
        channel: Channel,
        target: Target,
        identity: Identity,
        request_id: str,
        revises: Revision | None,
    ) -> NewDelivery:
        now = self.clock.now_us()
        text = signed(outgoing, channel.capabilities.style) if self.policy.sign else outgoing.message
        asked = outgoing.on_uncertain if revises is None else OnUncertain.RESEND  # the same edit twice is one edit
        delivery_id = DeliveryId(self.mint(now))
        return NewDelivery(
            id=delivery_id,
            idempotency_key=identity.key,
            fingerprint=identity.fingerprint,
            request_id=request_id,
            origin_butler=outgoing.origin_butler,
            channel=outgoing.channel,
            intent=outgoing.intent,
            target_identity=target.identity,
            address=target.address,
            thread=target.thread,
            message=text,
            subject=outgoing.subject,
            emoji=outgoing.emoji,
            envelope=envelope_text(outgoing, text),
            priority=outgoing.priority,
            on_uncertain=self.policy.uncertain(outgoing.channel, asked),
            created_at_us=now,
            trace_id=trace_id_for_delivery(delivery_id),
            markup=outgoing.markup,
            revises=revises,
            format=outgoing.format,
            attachments=outgoing.attachments,
            asker=outgoing.asker,
            repeats=outgoing.repeats,
            urgent=limits.is_urgent(outgoing),
            handed_by=outgoing.handed_by,
        )


def _same(accepted: Accepted, new: NewDelivery) -> Accepted:
    """One key, one message: the same key with other content is a mistake worth telling."""
    if accepted.snapshot.fingerprint != new.fingerprint:
        raise ValidationError.of([FieldError("idempotency_key", "was already used for another message", "key_reused")])
    if accepted.created:
        return replace(accepted, created=False)
    return accepted


_Answer = TypeVar("_Answer")


class Arrival(Generic[_Answer]):
    """Each caller has an answer of its own to wait for, so that hanging up stops neither the work nor the others."""

    __slots__ = ("_callers", "task")

    def __init__(self) -> None:
        self._callers: list[asyncio.Future[_Answer]] = []
        self.task: asyncio.Task[None] | None = None

    def heard(self) -> asyncio.Future[_Answer]:
        caller: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        self._callers.append(caller)
        return caller

    def tell(self, answer: _Answer) -> None:
        for caller in self._callers:
            if not caller.done():
                caller.set_result(answer)

    def fail(self, error: BaseException) -> None:
        for caller in self._callers:
            if not caller.done():
                caller.set_exception(error)


# The door of delivery: everything that leaves Postroom leaves through here.


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    acceptance: Acceptance
    dispatcher: Dispatcher
    outcomes: Outcomes
    known_channels: KnownChannels
    attention: Considers | None = None

    async def submit(
        self, outgoing: Outgoing, *, request_id: str, wait_seconds: float, draft: DeliveryDraft | None = None
    ) -> Outcome:
        """
        Once accepted, the delivery goes on whatever becomes of the caller: hanging
        up or running out of patience cancels the waiting and nothing else.

        `draft`: of this message before it was released, so that nobody drafts it again.
        """
        request_id = outgoing.context.request_id if outgoing.context else request_id
        try:
            draft = draft and draft.released(outgoing, request_id)
            draft = draft or await self.acceptance.draft(outgoing, request_id)
            if self.attention is not None and may_be_held(outgoing):
                considered = await self.attention.consider(draft, wait_seconds=wait_seconds)
                if isinstance(considered, Outcome):
                    return considered
                draft = considered
            accepted = await self.acceptance.accept(draft)
        except PostroomError as error:
            return refused(error, request_id=request_id, channel=outgoing.channel)
        return outcome_of(await self.snapshot(accepted, wait_seconds), request_id=request_id)

    async def channels_down(self) -> frozenset[str]:
        """Those whose circuit is not closed."""
        path = self.acceptance
        circuits = {name: await path.breakers.circuit(name) for name in path.channels}
        return frozenset(name for name, one in circuits.items() if one.state is not CircuitState.CLOSED)

    async def stop(self, drain_seconds: float) -> None:
        """Lets the calls that are being made finish, then tells whoever waits for anything else what is known."""
        await self.dispatcher.drain(drain_seconds)
        self.outcomes.let_go()

    async def snapshot(self, accepted: Accepted, wait_seconds: float) -> Snapshot:
        """What is known when the waiting ends; stored is stored, even if the store is away just then."""
        snapshot = accepted.snapshot
        if snapshot.status in TERMINAL or snapshot.status is Status.AWAITING_APPROVAL or wait_seconds <= 0:
            return snapshot
        try:
            outcome = await self.outcomes.wait(snapshot.id, wait_seconds, look_first=accepted.claim is None)
            return outcome or await self.acceptance.ledger.get(snapshot.id) or snapshot
        except StoreUnavailable:
            return snapshot


def may_be_held(outgoing: Outgoing) -> bool:
    """An answer is awaited, a correction belongs to what was sent, and the household's own cards have buttons."""
    return not (
        outgoing.released
        or outgoing.revises
        or outgoing.follows
        or outgoing.markup
        or outgoing.intent is not Intent.SEND
    )


# -- Deliveries that another process has settled ---


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledElsewhere:
    dispatcher: Dispatcher
    outcomes: Outcomes
    limits: Limits
    over: Callable[[], Awaitable[list[DeliveryId]]] | None
    """Which hold a place in flight here and have ended; None where all share their places: who settled released it."""

    async def heard(self, ids: list[DeliveryId] | None) -> None:
        """None: notices may have been missed, so everything of ours is looked at."""
        theirs = ids and [one for one in ids if not self.dispatcher.has_in_hand(one)]  # of our own we hear before
        await self.outcomes.refresh(theirs)
        if self.over is not None:
            for one in ids if ids is not None else await self.over():
                await self.limits.release(one)
