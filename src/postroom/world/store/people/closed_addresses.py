"""Addresses that are written to no more: closed together with the news that closed them, opened by people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, delete, select

from postroom.domain.address_folding import folded
from postroom.domain.closed_address import ClosedAddress, Closing
from postroom.domain.ids import DeliveryId
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.insert_for import insert_for
from postroom.world.store.tables.closed_addresses import closed_addresses

_closed = closed_addresses.c


class StoredClosedAddresses:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def closed(self, channel: str, address: str) -> ClosedAddress | None:
        return await self._database.read(lambda connection: closed_at(connection, channel, address))

    async def reopen_bounced(self, channel: str, address: str) -> bool:
        """They wrote to us from there, so it takes mail; what they asked for stands."""
        if (found := await self.closed(channel, address)) is None or found.reason is not Closing.BOUNCED:
            return False
        await self._database.write(lambda connection: reopen(connection, channel, address, Closing.BOUNCED))
        return True

    async def newest(self, limit: int) -> Sequence[ClosedAddress]:
        asked = select(closed_addresses).order_by(_closed.closed_at.desc()).limit(limit)
        return await self._database.read(lambda connection: [closed_of(row) for row in connection.execute(asked)])


def closed_at(connection: Connection, channel: str, address: str) -> ClosedAddress | None:
    row = connection.execute(select(closed_addresses).where(_at(channel, address))).first()
    return closed_of(row) if row else None


def close(connection: Connection, one: ClosedAddress) -> None:
    """What a person asked for is not forgotten over a bounce."""
    row = {
        "channel": one.channel,
        "folded": folded(one.address),
        "address": one.address,
        "reason": str(one.reason),
        "words": one.words,
        "delivery_id": one.delivery_id,
        "closed_at": one.at_us,
    }
    put = insert_for(connection, closed_addresses).values(row)
    if one.reason is Closing.BOUNCED:
        connection.execute(put.on_conflict_do_nothing())
    else:
        connection.execute(put.on_conflict_do_update(index_elements=["channel", "folded"], set_=row))


def reopen(connection: Connection, channel: str, address: str, only: Closing | None = None) -> None:
    gone = delete(closed_addresses).where(_at(channel, address))
    connection.execute(gone if only is None else gone.where(_closed.reason == str(only)))


def forget_bounces(connection: Connection, places: Iterable[tuple[str, str]]) -> None:
    """At these addresses on these channels, in one statement for all of them."""
    here = _closed.channel == bindparam("on_channel"), _closed.folded == bindparam("at_address")
    rows = [{"on_channel": channel, "at_address": folded(address.strip())} for channel, address in places]
    if rows:
        connection.execute(delete(closed_addresses).where(*here, _closed.reason == str(Closing.BOUNCED)), rows)


def closed_of(row: Row[Any]) -> ClosedAddress:
    return ClosedAddress(
        channel=row.channel,
        address=row.address,
        reason=Closing(row.reason),
        words=row.words,
        delivery_id=DeliveryId(row.delivery_id),
        at_us=row.closed_at,
    )


def _at(channel: str, address: str) -> ColumnElement[bool]:
    return and_(_closed.channel == channel, _closed.folded == folded(address.strip()))
