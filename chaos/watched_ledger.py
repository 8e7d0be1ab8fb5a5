"""A ledger that notes what happens around each of its commits, and dies there when told to."""

from __future__ import annotations

from collections.abc import Sequence

from chaos.crash_points import Crash, Point
from chaos.journal import Journal, Step
from chaos.tokens import token_in
from postroom.delivery.model import Claim, Inserted, Lease, NewDelivery, Refusal, Settlement, Snapshot
from postroom.delivery.store.ledger import DeliveryLedger
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Receipt


class WatchedLedger(DeliveryLedger):
    def __init__(self, inner: DeliveryLedger, journal: Journal, crash: Crash) -> None:
        self._inner = inner
        self._journal = journal
        self._crash = crash

    async def find(self, key: str) -> Snapshot | None:
        return await self._inner.find(key)

    async def get(self, delivery_id: DeliveryId) -> Snapshot | None:
        return await self._inner.get(delivery_id)

    async def insert(self, new: NewDelivery, lease: Lease | None) -> Inserted:
        token = token_in(new.message) or "-"
        self._crash.at(Point.BEFORE_INSERT, token)
        if lease and lease.sending:
            inserted = await self._insert_marked(new, lease, token)
        else:
            inserted = await self._inner.insert(new, lease)
        self._crash.at(Point.AFTER_INSERT, token)
        return inserted

    async def _insert_marked(self, new: NewDelivery, lease: Lease, token: str) -> Inserted:
        self._journal.note(Step.MARK, token)
        try:
            inserted = await self._inner.insert(new, lease)
        except StoreUnavailable:
            self._journal.note(Step.MARK_LOST, token)
            raise
        if inserted.claim is None or not inserted.claim.sending:
            self._journal.note(Step.NOT_MARKED, token)
        return inserted

    async def refuse(self, refusal: Refusal) -> None:
        await self._inner.refuse(refusal)

    async def claim(self, channel: str, *, now_us: int, lease_until_us: int, limit: int) -> Sequence[Claim]:
        self._crash.at(Point.BEFORE_CLAIM)
        claims = await self._inner.claim(channel, now_us=now_us, lease_until_us=lease_until_us, limit=limit)
        for claim in claims:
            self._crash.at(Point.AFTER_CLAIM, token_in(claim.message))
        return claims

    async def reclaim(
        self,
        *,
        expired_before_us: int,
        now_us: int,
        lease_until_us: int,
        limit: int,
        in_hand: Sequence[DeliveryId] = (),
    ) -> Sequence[Claim]:
        self._crash.at(Point.BEFORE_RECLAIM)
        claims = await self._inner.reclaim(
            expired_before_us=expired_before_us,
            now_us=now_us,
            lease_until_us=lease_until_us,
            limit=limit,
            in_hand=in_hand,
        )
        for claim in claims:
            self._crash.at(Point.AFTER_RECLAIM, token_in(claim.message))
        return claims

    async def orphaned_before_us(self, now_us: int) -> int:
        return await self._inner.orphaned_before_us(now_us)

    async def next_due_us(self, now_us: int) -> int | None:
        return await self._inner.next_due_us(now_us)

    async def mark_sending(self, claim: Claim, *, now_us: int, lease_until_us: int) -> bool:
        token = token_in(claim.message) or "-"
        self._crash.at(Point.BEFORE_MARK, token)
        self._journal.note(Step.MARK, token)
        try:
            marked = await self._inner.mark_sending(claim, now_us=now_us, lease_until_us=lease_until_us)
        except StoreUnavailable:
            self._journal.note(Step.MARK_LOST, token)
            raise
        if not marked:
            self._journal.note(Step.NOT_MARKED, token)
        self._crash.at(Point.AFTER_MARK, token)
        return marked

    async def advance(self, claim: Claim, receipt: Receipt, *, now_us: int, lease_until_us: int) -> bool:
        token = token_in(claim.message) or "-"
        self._crash.at(Point.BEFORE_ADVANCE, token)
        try:
            moved = await self._inner.advance(claim, receipt, now_us=now_us, lease_until_us=lease_until_us)
        except StoreUnavailable:
            self._journal.note(Step.ADVANCE_LOST, token)
            raise
        self._crash.at(Point.AFTER_ADVANCE, token)
        return moved

    async def settle(self, done: Settlement) -> bool:
        token = token_in(done.claim.message) or "-"
        self._crash.at(Point.BEFORE_SETTLE, token)
        settled = await self._inner.settle(done)
        self._journal.note(Step.SETTLED if settled else Step.FENCED, token, str(done.status))
        self._crash.at(Point.AFTER_SETTLE, token)
        return settled
