"""The switchboard's registry of butlers, on disk."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from postroom.domain.registry import Registration
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.rows import read
from postroom.world.store.tables.butlers import butler_registry

_c = butler_registry.c


class StoredRegistry:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, name: str) -> Registration | None:
        def work(connection: Connection) -> Registration | None:
            row = connection.execute(select(butler_registry).where(_c.name == name)).first()
            return _of(row) if row else None

        return await self._database.read(work)

    async def all(self) -> list[Registration]:
        everyone = select(butler_registry).order_by(_c.name)
        return await self._database.read(lambda connection: [_of(row) for row in connection.execute(everyone)])

    async def register(self, one: Registration) -> None:
        """A butler that comes back is no longer stale, but stays quarantined until released."""

        def work(connection: Connection) -> None:
            values = {
                "endpoint_url": one.endpoint_url,
                "description": one.description,
                "modules": json.dumps(list(one.modules)),
                "liveness_ttl_seconds": one.liveness_ttl_seconds,
                "last_seen_at": one.last_seen_at_us,
            }
            if not connection.execute(update(butler_registry).where(_c.name == one.name).values(**values)).rowcount:
                connection.execute(
                    insert(butler_registry).values(name=one.name, registered_at=one.last_seen_at_us, **values)
                )

        await self._database.write(work)

    async def seen(self, name: str, now_us: int) -> None:
        alive = update(butler_registry).where(_c.name == name, _c.last_seen_at < now_us).values(last_seen_at=now_us)
        await self._database.write(lambda connection: connection.execute(alive).rowcount)

    async def quarantine(self, name: str, reason: str | None) -> bool:
        changed = update(butler_registry).where(_c.name == name).values(quarantine_reason=reason)
        return await self._database.write(lambda connection: connection.execute(changed).rowcount > 0)


def _of(row: Row[Any]) -> Registration:
    return read(Registration, row, modules=tuple(json.loads(row.modules)))
