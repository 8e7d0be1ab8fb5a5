"""What a delivery that has arrived is called by its provider, part by part."""

from __future__ import annotations

from sqlalchemy import Connection, or_, select

from postroom.domain.attachment import attachments_of_text
from postroom.domain.delivery import Status
from postroom.domain.ids import DeliveryId
from postroom.domain.ledger import Sent
from postroom.world.store.engine.database import Database
from postroom.world.store.tables.deliveries import delivery_receipts, delivery_requests

_requests, _receipts = delivery_requests.c, delivery_receipts.c


class StoredSent:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def sent(self, delivery_id: DeliveryId) -> Sent | None:
        return await self._database.read(lambda connection: sent(connection, delivery_id))


def sent(connection: Connection, delivery_id: DeliveryId) -> Sent | None:
    """A dead letter that was sent again counts as arrived; its parts may be spread over both rows."""
    lineage = or_(_requests.id == delivery_id, _requests.replay_of == delivery_id)
    found = select(delivery_requests).where(lineage, _requests.status == str(Status.DELIVERED)).limit(1)
    row = connection.execute(found).mappings().first()
    if row is None:
        return None
    parts = (
        select(_receipts.part, _receipts.provider_delivery_id, _receipts.conversation)
        .join(delivery_requests, _requests.id == _receipts.delivery_request_id)
        .where(lineage)
        .order_by(_receipts.part)
    )
    received = {row.part: row for row in connection.execute(parts)}.values()
    return Sent(
        id=delivery_id,
        origin_butler=row["origin_butler"],
        channel=row["channel"],
        address=row["address"],
        provider_ids=tuple(row.provider_delivery_id for row in received),
        conversation=next((row.conversation for row in received if row.conversation is not None), None),
        files=len(attachments_of_text(row["attachments"])),
    )
