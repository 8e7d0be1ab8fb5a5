"""E-mail copies on their way to the ledger: taken under a lease, settled under a fence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, assert_never

from sqlalchemy import Connection, RowMapping, and_, case, func, or_, select, update

from postroom.domain.email_copy import (
    Batch,
    Defer,
    Drop,
    Ending,
    GivenUp,
    HandedOver,
    Judge,
    Send,
    TryAgain,
    digests,
)
from postroom.world.store.engine.database import Database
from postroom.world.store.inbox.again import OPEN as _OPEN
from postroom.world.store.inbox.lock import try_lock_inbox
from postroom.world.store.inbox.rows import notification_of, wishes_of
from postroom.world.store.tables.inbox import deferred_emails, notifications

_TABLE: Final = deferred_emails.c
_MOST_AT_ONCE: Final = 20

Mint = Callable[[int], str]


class StoredEmails:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(
        self, *, now_us: int, lease_until_us: int, digest: bool, judge: Judge, mint: Mint
    ) -> Sequence[Batch]:
        def work(connection: Connection) -> list[Batch]:
            take = _Take(connection, now_us, lease_until_us, digest, judge, mint)
            return [*take.again(), *take.fresh()]

        return await self._database.write(work)

    async def settle(self, batch: Batch, ending: Ending, now_us: int) -> bool:
        mine = and_(_TABLE.batch_id == batch.id, _TABLE.fence == batch.fence, _OPEN)
        settled = update(deferred_emails).where(mine).values(_ended(ending, now_us))
        return await self._database.write(lambda connection: connection.execute(settled).rowcount > 0)

    async def next_due_us(self) -> int | None:
        later = case((_TABLE.lease_until > _TABLE.deliver_after, _TABLE.lease_until), else_=_TABLE.deliver_after)
        due = select(func.min(later)).where(_OPEN)
        return await self._database.read(lambda connection: connection.execute(due).scalar())


class _Take:
    """One transaction: what it judges and leases is committed before any of it can leave."""

    def __init__(
        self, connection: Connection, now_us: int, lease_until_us: int, digest: bool, judge: Judge, mint: Mint
    ) -> None:
        self._connection = connection
        self._now_us = now_us
        self._lease_until_us = lease_until_us
        self._digest = digest
        self._judge = judge
        self._mint = mint
        free = or_(_TABLE.lease_until.is_(None), _TABLE.lease_until < now_us)
        self._due = and_(_OPEN, _TABLE.deliver_after <= now_us, free)

    def again(self) -> Iterator[Batch]:
        """Decided before, but never settled: as they were, only under a new fence."""
        batched = and_(self._due, _TABLE.batch_id.is_not(None))
        found = select(_TABLE.batch_id, _TABLE.fence).where(batched).distinct().limit(_MOST_AT_ONCE)
        for batch_id, fence in self._connection.execute(found).all():
            mine = and_(batched, _TABLE.batch_id == batch_id, _TABLE.fence == fence)
            taken = update(deferred_emails).where(mine).values(fence=fence + 1, lease_until=self._lease_until_us)
            if self._connection.execute(taken).rowcount:
                yield self._batch(batch_id)

    def fresh(self) -> Iterator[Batch]:
        waiting = and_(self._due, _TABLE.batch_id.is_(None))
        users = select(_TABLE.user_id).where(waiting).group_by(_TABLE.user_id).limit(_MOST_AT_ONCE)
        for user_id in self._connection.execute(users).scalars().all():
            if try_lock_inbox(self._connection, user_id):
                yield from self._of_user(user_id, waiting)

    def _of_user(self, user_id: str, waiting: Any) -> Iterator[Batch]:
        preferences = wishes_of(self._connection, user_id)
        found = (
            select(notifications, _TABLE.id.label("email_id"), _TABLE.quiet)
            .join(deferred_emails, _TABLE.notification_id == notifications.c.id)
            .where(waiting, _TABLE.user_id == user_id)
            .order_by(notifications.c.created_at, notifications.c.id)
        )
        leaving: list[tuple[RowMapping, Send]] = []
        for row in self._connection.execute(found).mappings().all():
            verdict = self._judge(notification_of(row), preferences)
            if isinstance(verdict, Send):
                leaving.append((row, verdict))
            else:
                self._keep(row, verdict)
        for batch_id, rows in self._batches(leaving):
            self._lease(batch_id, rows)
            yield self._batch(batch_id)

    def _keep(self, row: RowMapping, verdict: Defer | Drop) -> None:
        match verdict:
            case Defer(until_us):
                values: dict[str, Any] = {"deliver_after": until_us, "quiet": True}
            case Drop(reason):
                values = {"cancelled_at": self._now_us, "error_message": reason}
        self._connection.execute(update(deferred_emails).where(_TABLE.id == row["email_id"]).values(values))

    def _batches(
        self, leaving: Sequence[tuple[RowMapping, Send]]
    ) -> Iterator[tuple[str, Sequence[tuple[RowMapping, Send]]]]:
        """What waited leaves together; everything else by itself, under its notification's own id."""
        waited = [pair for pair in leaving if pair[0]["quiet"]]
        if not self._digest or len(waited) < 2:
            yield from ((pair[0]["id"], [pair]) for pair in leaving)
            return
        rest = iter(waited)
        for digest in digests([notification_of(row) for row, _ in waited]):
            yield self._mint(self._now_us), list(islice(rest, len(digest)))
        yield from ((pair[0]["id"], [pair]) for pair in leaving if not pair[0]["quiet"])

    def _lease(self, batch_id: str, rows: Sequence[tuple[RowMapping, Send]]) -> None:
        leased = update(deferred_emails).where(_TABLE.id.in_([row["email_id"] for row, _ in rows]))
        values = {"batch_id": batch_id, "address": rows[0][1].address, "zone": rows[0][1].zone}
        self._connection.execute(leased.values(**values, fence=_TABLE.fence + 1, lease_until=self._lease_until_us))

    def _batch(self, batch_id: str) -> Batch:
        found = (
            select(notifications, _TABLE.fence, _TABLE.attempts, _TABLE.address, _TABLE.zone)
            .join(deferred_emails, _TABLE.notification_id == notifications.c.id)
            .where(_TABLE.batch_id == batch_id)
            .order_by(notifications.c.created_at, notifications.c.id)
        )
        rows = self._connection.execute(found).mappings().all()
        return Batch(
            id=batch_id,
            fence=rows[0]["fence"],
            attempts=rows[0]["attempts"],
            user_id=rows[0]["user_id"],
            address=rows[0]["address"],
            zone=rows[0]["zone"],
            notifications=tuple(notification_of(row) for row in rows),
        )


def _ended(ending: Ending, now_us: int) -> dict[str, Any]:
    match ending:
        case HandedOver(delivery_id):
            return {"delivered_at": now_us, "delivery_id": delivery_id, "error_message": None, "lease_until": None}
        case TryAgain(at_us, reason):
            more = {"attempts": _TABLE.attempts + 1, "lease_until": None}
            return {"deliver_after": at_us, "error_message": reason, **more}
        case GivenUp(reason):
            return {"failed_at": now_us, "error_message": reason, "lease_until": None}
        case _:
            assert_never(ending)
