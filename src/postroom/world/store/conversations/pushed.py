"""What a provider sent us by itself: stored before it is acknowledged, and remembered for as long as it may repeat."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, delete, func, select, update

from postroom.domain.time import seconds
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.insert_for import insert_for
from postroom.world.store.tables.pushed_updates import WAITING, pushed_updates

REMEMBERED_SECONDS: Final = 2 * 86_400.0  # Telegram repeats for a day, and counts anew after a quiet week
_c = pushed_updates.c


class StoredPushes:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, channel: str, number: int, update: Mapping[str, Any], now_us: int) -> None:
        """Once for each number; a repetition changes nothing."""
        row = {"channel": channel, "number": number, "content": json.dumps(update), "received_at": now_us}

        def work(connection: Connection) -> None:
            connection.execute(insert_for(connection, pushed_updates).values(row).on_conflict_do_nothing())

        await self._database.write(work)

    async def waiting(self, channel: str, limit: int) -> Sequence[tuple[int, Mapping[str, Any]]]:
        """Those that are not yet handled, with their numbers, in the provider's order."""
        asked = select(_c.number, _c.content).where(_c.channel == channel, WAITING).order_by(_c.number).limit(limit)
        rows = await self._database.read(lambda connection: connection.execute(asked).all())
        return [(row.number, json.loads(row.content)) for row in rows]

    async def handled(self, channel: str, numbers: Sequence[int], now_us: int) -> None:
        """Only the numbers stay, and those not for ever."""
        done = update(pushed_updates).where(_c.channel == channel, _c.number.in_(numbers))
        old = delete(pushed_updates).where(_c.channel == channel, _c.handled_at < now_us - seconds(REMEMBERED_SECONDS))

        def work(connection: Connection) -> None:
            connection.execute(done.values(content="{}", handled_at=now_us))
            connection.execute(old)

        await self._database.write(work)

    async def last_us(self, channel: str) -> int:
        """When something last came; 0 when nothing did for days."""
        asked = select(func.max(_c.received_at)).where(_c.channel == channel)
        return int(await self._database.read(lambda connection: connection.execute(asked).scalar()) or 0)
