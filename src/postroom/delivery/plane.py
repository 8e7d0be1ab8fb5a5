"""The one way out: everything that leaves Postroom leaves through here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from postroom.delivery.accept import Acceptance, Accepted
from postroom.delivery.dispatcher import Dispatcher, Outcomes
from postroom.delivery.model import Snapshot, outcome_of
from postroom.delivery.seams import Considers, Limits
from postroom.kernel.values.errors import PostroomError, StoreUnavailable
from postroom.kernel.values.ids import DeliveryId
from postroom.message.channel import KnownChannels
from postroom.message.delivery import TERMINAL, Intent, Status
from postroom.message.outgoing import Outcome, Outgoing, refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    acceptance: Acceptance
    dispatcher: Dispatcher
    outcomes: Outcomes
    known_channels: KnownChannels
    attention: Considers | None = None

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        """
        Once accepted, the delivery goes on whatever becomes of the caller: hanging
        up or running out of patience cancels the waiting and nothing else.
        """
        request_id = outgoing.context.request_id if outgoing.context else request_id
        try:
            if self.attention is not None and may_be_held(outgoing):
                held = await self.attention.consider(outgoing, request_id, wait_seconds=wait_seconds)
                if held is not None:
                    return held
            accepted = await self.acceptance.accept(outgoing, request_id=request_id)
        except PostroomError as error:
            return refused(error, request_id=request_id, channel=outgoing.channel)
        return outcome_of(await self.snapshot(accepted, wait_seconds), request_id=request_id)

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
