"""What a delivery that has arrived is called by its provider, part by part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Select, or_, select

from postroom.domain.attachment import attachments_of_text
from postroom.domain.delivery import Status
from postroom.domain.ids import DeliveryId
from postroom.domain.ledger import Sent
from postroom.domain.markup import revision_of_text
from postroom.world.store.engine.database import Database
from postroom.world.store.tables.corrections import delivery_corrections
from postroom.world.store.tables.deliveries import delivery_receipts, delivery_requests

_requests, _receipts, _corrections = delivery_requests.c, delivery_receipts.c, delivery_corrections.c


class StoredSent:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def sent(self, delivery_id: DeliveryId, *, besides: DeliveryId | None = None) -> Sent | None:
        return await self._database.read(lambda connection: sent(connection, delivery_id, besides))


def sent(connection: Connection, delivery_id: DeliveryId, besides: DeliveryId | None = None) -> Sent | None:
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
    more, gone = _revised(connection, delivery_id, row["request_id"], besides)
    return Sent(
        id=delivery_id,
        origin_butler=row["origin_butler"],
        channel=row["channel"],
        address=row["address"],
        provider_ids=tuple(row.provider_delivery_id for row in received),
        conversation=next((row.conversation for row in received if row.conversation is not None), None),
        files=len(attachments_of_text(row["attachments"])),
        more=tuple(one for one in more if one not in gone),
        gone=tuple(gone),
    )


def _revised(
    connection: Connection, delivery_id: DeliveryId, request_id: str, besides: DeliveryId | None
) -> tuple[list[str], list[str]]:
    """What its revisions have added, and taken away: edits and deletions are named as such by their receipts."""
    more: list[str] = []
    gone: list[str] = []
    for name in _names(connection, delivery_id, request_id, besides):
        act, _, where = name.partition(":")
        if act == "delete":
            gone.append(where.partition(":")[2])
        elif act != "edit":
            more.append(name)
    return more, gone


def _names(
    connection: Connection, delivery_id: DeliveryId, request_id: str, besides: DeliveryId | None
) -> Iterator[str]:
    """A correction is known by its key; all that is sent about a question is of one request."""
    carried = select(_corrections.carried_key).where(_corrections.delivery_id == delivery_id)
    mine = or_(_requests.request_id == request_id, _requests.idempotency_key.in_(carried))
    asked = select(_requests.id, _requests.revises).where(mine, _requests.revises.is_not(None))
    about = {row.id: revision_of_text(row.revises) for row in connection.execute(asked)}
    ids = [id for id, one in about.items() if one and one.delivery_id == delivery_id and id != besides]
    if ids:
        yield from connection.execute(_receipts_of(ids)).scalars()


def _receipts_of(ids: list[str]) -> Select[Any]:
    return (
        select(_receipts.provider_delivery_id)
        .join(delivery_requests, _requests.id == _receipts.delivery_request_id)
        .where(or_(_requests.id.in_(ids), _requests.replay_of.in_(ids)))
        .order_by(_requests.id, _receipts.part)
    )
