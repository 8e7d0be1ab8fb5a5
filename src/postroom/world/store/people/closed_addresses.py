"""Addresses from which mail came back: closed or doubted together with the news of it, cleared by people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, delete, select

from postroom.domain.address_folding import folded
from postroom.domain.closed_address import ClosedAddress
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.rows import read
from postroom.world.store.tables.closed_addresses import closed_addresses

_closed = closed_addresses.c


class StoredClosedAddresses:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def closed(self, channel: str, address: str) -> ClosedAddress | None:
        """None also while it is only doubted."""
        found = await self._database.read(lambda connection: closed_at(connection, channel, address))
        return found if found is not None and found.is_closed else None

    async def reopen_bounced(self, channel: str, address: str) -> bool:
        """They wrote to us from there, so it takes mail."""
        if await self._database.read(lambda connection: closed_at(connection, channel, address)) is None:
            return False
        await self._database.write(lambda connection: reopen(connection, channel, address))
        return True

    async def newest(self, limit: int) -> Sequence[ClosedAddress]:
        asked = select(closed_addresses).order_by(_closed.closed_at.desc()).limit(limit)
        return await self._database.read(lambda connection: [closed_of(row) for row in connection.execute(asked)])


def closed_at(connection: Connection, channel: str, address: str) -> ClosedAddress | None:
    row = connection.execute(select(closed_addresses).where(_at(channel, address))).first()
    return closed_of(row) if row else None


def reopen(connection: Connection, channel: str, address: str) -> None:
    connection.execute(delete(closed_addresses).where(_at(channel, address)))


def forget_bounces(connection: Connection, places: Iterable[tuple[str, str]]) -> None:
    """At these addresses on these channels, in one statement for all of them."""
    here = _closed.channel == bindparam("on_channel"), _closed.folded == bindparam("at_address")
    rows = [{"on_channel": channel, "at_address": folded(address.strip())} for channel, address in places]
    if rows:
        connection.execute(delete(closed_addresses).where(*here), rows)


def closed_of(row: Row[Any]) -> ClosedAddress:
    return read(ClosedAddress, row, at_us=row.closed_at)


def _at(channel: str, address: str) -> ColumnElement[bool]:
    return and_(_closed.channel == channel, _closed.folded == folded(address.strip()))
