"""A ledger of either kind, and the rows behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select
from tests.support.sample_deliveries import LEASE, NOON_US, SECOND

from postroom.delivery.model import Claim, NewDelivery
from postroom.delivery.store.ledger import DeliveryLedger
from postroom.delivery.store.tables import delivery_requests
from postroom.kernel.database.engine import Database


@dataclass(frozen=True, slots=True)
class Store:
    database: Database
    ledger: DeliveryLedger

    async def rows(self, table: Any) -> list[dict[str, Any]]:
        def work(connection: Connection) -> list[dict[str, Any]]:
            return [dict(row) for row in connection.execute(select(table)).mappings()]

        return await self.database.read(work)

    async def row(self, delivery_id: str) -> dict[str, Any]:
        return next(row for row in await self.rows(delivery_requests) if row["id"] == delivery_id)

    async def claim(self, channel: str = "telegram", *, now_us: int = NOON_US, limit: int = 10) -> Sequence[Claim]:
        return await self.ledger.claim(channel, now_us=now_us, lease_until_us=now_us + 30 * SECOND, limit=limit)

    async def leased(self, new: NewDelivery) -> Claim:
        inserted = await self.ledger.insert(new, LEASE)
        assert inserted.claim is not None
        return inserted.claim
