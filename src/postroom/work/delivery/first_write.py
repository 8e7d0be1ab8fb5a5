"""Writes a new delivery, with claim and mark when its call can be made at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from postroom.domain.breaker import Permit
from postroom.domain.clock import Clock
from postroom.domain.errors import StoreUnavailable
from postroom.domain.ledger import Inserted, Lease, NewDelivery
from postroom.domain.seams import Ledger
from postroom.domain.time import SECOND_US
from postroom.work.delivery.dispatcher import Dispatcher
from postroom.work.delivery.pipeline import Pipeline

_MARK_GOOD_FOR_US = 5 * SECOND_US  # what is left of a lease that was asked for earlier may not outlast the call


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstWrite:
    ledger: Ledger
    dispatcher: Dispatcher
    pipeline: Pipeline
    clock: Clock

    async def write(self, new: NewDelivery) -> tuple[Inserted, Permit | None]:
        """With a permit the row carries the mark, and the call is the caller's to make."""
        if not self.dispatcher.reserve(new.channel):
            return await self._insert(new, None), None
        permit, marked = None, False
        try:
            if new.revises is None:  # else what it changes is looked at once more before it leaves
                permit = await self.pipeline.go_ahead(new.channel, new.address)
            asked_at_us = self.clock.now_us()
            lease = self.dispatcher.lease(new, asked_at_us, sending=permit is not None)
            inserted = await self._insert(new, lease)
            if self.clock.now_us() - asked_at_us > _MARK_GOOD_FOR_US:
                inserted = _unmarked(inserted)
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

    async def _insert(self, new: NewDelivery, lease: Lease | None) -> Inserted:
        try:
            return await self.ledger.insert(new, lease)
        except StoreUnavailable:  # it may be stored and only the answer lost; the same row cannot be stored twice
            return await self.ledger.insert(new, lease)


def _unmarked(inserted: Inserted) -> Inserted:
    """To be marked anew, with a whole lease, and only if it is still ours."""
    return replace(inserted, claim=inserted.claim and replace(inserted.claim, sending=False))
