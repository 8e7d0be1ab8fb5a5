"""Revise and recall: in place before a message is sent, and by edit, delete or a correction in the thread after."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final
from weakref import WeakValueDictionary

from postroom.delivery.accept import Accepted, Plane
from postroom.delivery.afterwards import rules as ways
from postroom.delivery.afterwards.rules import (
    BY_SENDER,
    REPLACED,
    Correcting,
    CorrectionAct,
    CorrectionAnswer,
    CorrectionStanding,
    CorrectionStatus,
    How,
    KeptCorrection,
    unknown_delivery,
)
from postroom.delivery.afterwards.store import StoredCorrections
from postroom.delivery.model import NewDelivery, Snapshot
from postroom.delivery.rules.policy import caller_key
from postroom.delivery.rules.target import signed
from postroom.delivery.seams import ParkingTerms
from postroom.kernel.values.errors import PostroomError, TargetUnavailable, ValidationError
from postroom.kernel.values.ids import SECOND_US, DeliveryId, seconds
from postroom.message.delivery import Status
from postroom.message.outgoing import Outgoing

_LOOK_SECONDS: Final = 1.0  # a retry that is not yet due settles nothing, so nothing wakes who waits for it
_UNDER_WAY: Final = "It is being sent at this moment, and nothing was changed; ask again to correct what was sent."
_NO_WAY: Final = "It was sent, and {channel} can neither change, delete nor answer what was sent."


_Carried = tuple[KeptCorrection, Accepted]


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrections:
    plane: Plane
    record: StoredCorrections
    closed: Callable[[], None] = lambda: None  # wakes whoever closes the cards
    _turns: WeakValueDictionary[DeliveryId, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    _running: set[asyncio.Task[CorrectionAnswer]] = field(default_factory=set)

    async def correct(self, asked: Correcting, *, request_id: str, wait_seconds: float) -> CorrectionAnswer:
        """Never raises one of our errors. A caller who hangs up cancels the waiting and nothing else."""
        task = asyncio.create_task(self._answer(asked, request_id, wait_seconds))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def take_back(self, delivery_id: DeliveryId, *, actor: str) -> bool:
        """Withdraws what is not being sent yet, and nothing else; True also of what ended without arriving."""
        asked = Correcting(act=CorrectionAct.RECALL, delivery_id=delivery_id, actor=actor, sender=None)
        async with self._turns.setdefault(delivery_id, asyncio.Lock()):
            while (seen := await self.record.standing(delivery_id)) is not None and seen.waits:
                if await self._withdrawn(asked, seen) is not None:
                    return True
        return seen is not None and seen.sent is None and seen.status is Status.FAILED

    async def _answer(self, asked: Correcting, request_id: str, wait_seconds: float) -> CorrectionAnswer:
        until_us = self._now() + seconds(wait_seconds)
        try:
            async with self._turns.setdefault(asked.delivery_id, asyncio.Lock()):  # the last accepted text stands
                done = await self._begun(asked, request_id, until_us)
            if isinstance(done, CorrectionAnswer):
                return done
            kept, accepted = done
            snapshot = await self.plane.snapshot(accepted, self._left_seconds(until_us))
            return ways.carried(kept, snapshot, in_part=await self._is_in_part(snapshot))
        except PostroomError as error:
            status = CorrectionStatus.ERROR
            return CorrectionAnswer(status=status, revises=asked.delivery_id, said=error.message, error=error)

    async def _is_in_part(self, snapshot: Snapshot) -> bool:
        """It ended badly after some of its calls had been done: edits come before what a longer text adds."""
        if snapshot.status not in (Status.FAILED, Status.DEAD_LETTERED):
            return False
        ended = await self.record.standing(snapshot.id)
        return ended is not None and ended.claim.parts_done > 0

    async def _begun(self, asked: Correcting, request_id: str, until_us: int) -> CorrectionAnswer | _Carried:
        """Looks and acts until what was seen is what was acted on."""
        while True:
            seen = await self.record.standing(asked.delivery_id, asked.key)
            if seen is None:
                raise unknown_delivery()
            if asked.sender is not None and seen.claim.origin_butler != asked.sender:
                raise unknown_delivery()
            if (known := ways.repeated(asked, seen)) is not None:
                return await self._again(known, seen)
            if (refused := ways.objection(asked, seen)) is not None:
                return refused
            if seen.is_under_way or seen.status is Status.IN_PROGRESS:
                if not await self._later(seen, until_us):
                    return ways.too_late(asked, _UNDER_WAY)
                continue
            done = await self._acted(asked, seen, request_id)
            if done is not None:
                return done

    async def _acted(
        self, asked: Correcting, seen: CorrectionStanding, request_id: str
    ) -> CorrectionAnswer | _Carried | None:
        """None when it has moved on meanwhile."""
        if seen.waits and asked.act is CorrectionAct.RECALL:
            return await self._withdrawn(asked, seen)
        if seen.waits:
            return await self._reworded(asked, seen)
        return await self._sent(asked, seen, request_id) if seen.sent is not None else ways.over(asked, seen)

    async def _later(self, seen: CorrectionStanding, until_us: int) -> bool:
        """False when the caller's patience is over."""
        left = self._left_seconds(until_us)
        if left <= 0:
            return False
        await self.plane.outcomes.wait(seen.claim.id, min(left, _LOOK_SECONDS), look_first=True)
        return True

    async def _again(self, known: KeptCorrection, seen: CorrectionStanding) -> CorrectionAnswer | _Carried:
        """The same call gets the same answer, as far as it has come."""
        if known.carried_key is None:
            return ways.in_place(known, seen.status)
        found = await self.plane.acceptance.ledger.find(known.carried_key)
        if found is None:
            raise TargetUnavailable("the correction was asked for and cannot be found just now")
        return known, Accepted(snapshot=found, created=False)

    async def _withdrawn(self, asked: Correcting, seen: CorrectionStanding) -> CorrectionAnswer | None:
        failure = BY_SENDER if asked.sender is not None else f"withdrawn by {asked.actor}"
        kept = self._kept(asked, seen, How.IN_PLACE)
        return ways.in_place(kept, Status.FAILED) if await self._taken_back(seen, kept, failure) else None

    async def _taken_back(self, seen: CorrectionStanding, kept: KeptCorrection, failure: str) -> bool:
        snapshot = await self.record.withdraw(seen, kept, failure)
        if snapshot is None:
            return False
        self.plane.outcomes.settled(snapshot)
        await self.plane.acceptance.limits.release(snapshot.id)
        self.plane.dispatcher.wake()  # what waited behind it may go
        self.closed()
        return True

    async def _reworded(self, asked: Correcting, seen: CorrectionStanding) -> CorrectionAnswer | None:
        path, new, kept = self.plane.acceptance, self._worded(asked, seen), self._kept(asked, seen, How.IN_PLACE)
        await path.check(new)
        terms = await self._terms(seen, new)
        if terms is not None:
            await path.charge(new, kept.id)
        snapshot = await self.record.reword(seen, new, kept, terms)
        if snapshot is None:
            return None
        self._wake(snapshot, asked_anew=terms is not None)
        return ways.in_place(kept, snapshot.status)

    def _wake(self, snapshot: Snapshot, *, asked_anew: bool) -> None:
        gate = self.plane.acceptance.gate
        if snapshot.status is Status.PENDING:
            self.plane.dispatcher.wake()
        if asked_anew and gate is not None:
            gate.parked_anew()
        self.closed()

    async def _terms(self, seen: CorrectionStanding, new: NewDelivery) -> ParkingTerms | None:
        """None when nobody needs to be asked; what has been parked once is agreed to by a person or a rule."""
        gate = self.plane.acceptance.gate
        if seen.status is Status.AWAITING_APPROVAL and gate is None:
            raise ValidationError("it awaits an approval, and approvals are off")
        if gate is None or (seen.status is Status.PENDING and await gate.passes(new)):
            return None
        return await gate.terms(new, self._now())

    async def _sent(
        self, asked: Correcting, seen: CorrectionStanding, request_id: str
    ) -> CorrectionAnswer | _Carried | None:
        claim, path = seen.claim, self.plane.acceptance
        channel = path.channels.get(claim.channel)
        if channel is None:
            raise TargetUnavailable(f"no credentials for {claim.channel} are set")
        how = ways.way_of(asked.act, channel.capabilities)
        if how is None:
            return ways.too_late(asked, _NO_WAY.format(channel=claim.channel))
        kept = self._kept(asked, seen, how)
        if not await self.record.keep(seen, kept):
            return None
        outgoing = ways.outgoing_of(asked, seen, how, _own_key(kept))
        accepted = await path.accept(await path.draft(outgoing, request_id))
        await self._take_place_of(seen, kept)
        return kept, accepted

    async def _take_place_of(self, seen: CorrectionStanding, kept: KeptCorrection) -> None:
        """An earlier text that still waits for an approval would overwrite this one, whenever it came."""
        for one in seen.corrections:
            if one.status is not Status.AWAITING_APPROVAL or one.carried_by is None:
                continue
            earlier = await self.record.standing(one.carried_by)
            if earlier is not None and earlier.waits:
                over = replace(
                    kept,
                    id=self._mint(),
                    delivery_id=one.carried_by,
                    act=CorrectionAct.RECALL,
                    how=How.IN_PLACE,
                    version=1,
                    key=None,
                    carried_key=None,
                )
                await self._taken_back(earlier, over, REPLACED)

    def _worded(self, asked: Correcting, seen: CorrectionStanding) -> NewDelivery:
        path, claim = self.plane.acceptance, seen.claim
        format = asked.format or claim.format
        said = Outgoing(
            origin_butler=claim.origin_butler,
            channel=claim.channel,
            message=asked.message,
            intent=claim.intent,
            format=format,
        )
        style = path.style(claim.channel)
        return seen.worded(
            message=signed(said, style) if path.policy.sign else asked.message,
            subject=asked.subject if asked.subject is not None else claim.subject,
            format=format,
            envelope=ways.reworded_envelope(asked, seen),
        )

    def _kept(self, asked: Correcting, seen: CorrectionStanding, how: How) -> KeptCorrection:
        """A call that was cut short before anything came of it goes on under the name it had."""
        id = seen.keyed.id if seen.keyed is not None else self._mint()
        kept = KeptCorrection(
            id=id,
            delivery_id=asked.delivery_id,
            act=asked.act,
            how=how,
            version=seen.version + (asked.act is CorrectionAct.REVISE),
            actor=asked.actor,
            fingerprint=asked.fingerprint,
            at_us=self._now(),
            key=asked.key,
            reason=asked.reason,
        )
        if how is How.IN_PLACE:
            return kept
        return replace(kept, carried_key=caller_key(seen.claim.origin_butler, _own_key(kept)))

    def _mint(self) -> str:
        return self.plane.acceptance.mint(self._now())

    def _now(self) -> int:
        return self.plane.acceptance.clock.now_us()

    def _left_seconds(self, until_us: int) -> float:
        return max(0, until_us - self._now()) / SECOND_US


def _own_key(kept: KeptCorrection) -> str:
    return f"correction:{kept.id}"
