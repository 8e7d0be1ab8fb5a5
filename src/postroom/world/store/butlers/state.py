"""A butler's small memory: JSON values by key, with a version that counts changes."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from postroom.domain.strict_json import strict_json
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.retry_conflict import write_twice
from postroom.world.store.tables.butlers import butler_state

_c = butler_state.c


class StoredState:
    def __init__(self, database: Database, butler: str) -> None:
        self._database = database
        self._butler = butler

    async def get(self, key: str) -> dict[str, Any] | None:
        def work(connection: Connection) -> dict[str, Any] | None:
            row = connection.execute(select(_c.value, _c.version).where(*self._at(key))).first()
            return {"key": key, "value": json.loads(row.value), "version": row.version} if row else None

        return await self._database.read(work)

    async def set(self, key: str, value: Any, *, expected_version: int | None, now_us: int) -> int | None:
        """The new version, or None when somebody else changed it meanwhile."""

        def work(connection: Connection) -> int | None:
            row = connection.execute(select(_c.version).where(*self._at(key)).with_for_update()).first()
            version = row.version if row else 0
            if expected_version is not None and expected_version != version:
                return None
            values = {"value": strict_json(value, ensure_ascii=False), "version": version + 1, "updated_at": now_us}
            if row:
                connection.execute(update(butler_state).where(*self._at(key)).values(**values))
            else:
                connection.execute(insert(butler_state).values(butler=self._butler, key=key, **values))
            return int(version + 1)

        return await write_twice(self._database, work)

    async def delete(self, key: str) -> bool:
        def work(connection: Connection) -> bool:
            return connection.execute(delete(butler_state).where(*self._at(key))).rowcount > 0

        return await self._database.write(work)

    async def keys(self, prefix: str, limit: int) -> list[str]:
        def work(connection: Connection) -> list[str]:
            begins = func.substr(_c.key, 1, len(prefix)) == prefix  # to SQLite, LIKE knows no capitals
            mine = select(_c.key).where(_c.butler == self._butler, begins)
            return list(connection.execute(mine.order_by(_c.key).limit(limit)).scalars())

        return await self._database.read(work)

    def _at(self, key: str) -> tuple[Any, ...]:
        return (_c.butler == self._butler, _c.key == key)
