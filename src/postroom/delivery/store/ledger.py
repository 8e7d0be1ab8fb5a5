"""The durable record of deliveries, whichever database is below it; what waits together is written together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable, Sequence

from postroom.delivery.model import Claim, Inserted, Lease, NewDelivery, Refusal, Settlement, Snapshot
from postroom.kernel.database.engine import Coalescer
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Receipt

Written = tuple[NewDelivery, Lease | None]
Marked = tuple[Claim, int, int]
"""With the end of its lease, and now."""


class DeliveryLedger(ABC):
    """
    Every answer means "committed". Those that many wait for at a time hand out what is waited for itself, without a
    coroutine around it: callers hand in one thing at a time, and what waits together is written together.

    Each change names the state it expects, so a claim whose fence has moved on
    changes nothing and learns it by a False.
    """

    def __init__(self, *, by_halves: bool = False) -> None:
        self._inserts: Coalescer[Written, Inserted] = Coalescer(self._insert_all, by_halves=by_halves)
        self._finds: Coalescer[str, Snapshot | None] = Coalescer(self._find_all, by_halves=by_halves)
        self._marks: Coalescer[Marked, bool] = Coalescer(self._mark_all, by_halves=by_halves)
        self._settles: Coalescer[Settlement, bool] = Coalescer(self._settle_all, by_halves=by_halves)

    def find(self, key: str) -> Awaitable[Snapshot | None]:
        """By idempotency key; a dead letter that was replayed with success answers with the replay."""
        return self._finds.put(key)

    def insert(self, new: NewDelivery, lease: Lease | None) -> Awaitable[Inserted]:
        """
        Leased to the caller when asked for and nothing to the same address is ahead of it.

        A lease to send at once is the mark as well, so its claim says `sending`; a row found
        again after its answer was lost is never claimed that way, for who knows how old it is.
        """
        return self._inserts.put((new, lease))

    def mark_sending(self, claim: Claim, *, now_us: int, lease_until_us: int) -> Awaitable[bool]:
        return self._marks.put((claim, lease_until_us, now_us))

    def settle(self, done: Settlement) -> Awaitable[bool]:
        return self._settles.put(done)

    @abstractmethod
    async def get(self, delivery_id: DeliveryId) -> Snapshot | None: ...

    @abstractmethod
    async def refuse(self, refusal: Refusal) -> None: ...

    @abstractmethod
    async def claim(self, channel: str, *, now_us: int, lease_until_us: int, limit: int) -> Sequence[Claim]: ...

    @abstractmethod
    async def reclaim(
        self,
        *,
        expired_before_us: int,
        now_us: int,
        lease_until_us: int,
        limit: int,
        in_hand: Sequence[DeliveryId] = (),
    ) -> Sequence[Claim]:
        """
        Take over what is in progress under an expired lease, except what the caller itself is working on.

        What was written by a clock that has been set back since is first dated anew.
        """

    @abstractmethod
    async def orphaned_before_us(self, now_us: int) -> int:
        """At start: leases that end before this belong to nobody any more."""

    @abstractmethod
    async def next_due_us(self, now_us: int) -> int | None: ...

    @abstractmethod
    async def advance(self, claim: Claim, receipt: Receipt, *, now_us: int, lease_until_us: int) -> bool:
        """One part of several has arrived."""

    # What is written and found together, by each database in its own way.

    def _insert_all(self, batch: Sequence[Written]) -> Awaitable[Sequence[Inserted]]:
        raise NotImplementedError

    def _find_all(self, keys: Sequence[str]) -> Awaitable[Sequence[Snapshot | None]]:
        raise NotImplementedError

    def _mark(self, batch: Sequence[Marked]) -> Awaitable[set[str]]:
        """Which of them were still held."""
        raise NotImplementedError

    def _settle(self, batch: Sequence[Settlement]) -> Awaitable[set[str]]:
        raise NotImplementedError

    async def _mark_all(self, batch: Sequence[Marked]) -> Sequence[bool]:
        latest = _latest_fences(claim for claim, _, _ in batch)
        marked = await self._mark([one for one in batch if latest[one[0].id] == one[0].fence])
        return [claim.id in marked and latest[claim.id] == claim.fence for claim, _, _ in batch]

    async def _settle_all(self, batch: Sequence[Settlement]) -> Sequence[bool]:
        latest = _latest_fences(one.claim for one in batch)
        settled = await self._settle([one for one in batch if latest[one.claim.id] == one.claim.fence])
        return [one.claim.id in settled and latest[one.claim.id] == one.claim.fence for one in batch]


def _latest_fences(claims: Iterable[Claim]) -> dict[str, int]:
    """Fences only grow: of several claims on one delivery in a batch, only the newest can be the valid one."""
    fences: dict[str, int] = {}
    for claim in claims:
        fences[claim.id] = max(claim.fence, fences.get(claim.id, 0))
    return fences
