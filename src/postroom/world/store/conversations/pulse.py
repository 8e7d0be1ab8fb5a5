"""Whether anything about what people write has changed, for pages that are open."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from postroom.world.store.engine.database import Database
from postroom.world.store.tables.conversations import OPEN, inbound_messages

_in = inbound_messages.c


class TalkPulse:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def pulse(self) -> tuple[int, ...]:
        """The moment of the newest change, then how much there is; only what is still open is counted."""
        return await self._database.read(pulse)


def pulse(connection: Connection) -> tuple[int, ...]:
    newest = connection.execute(select(_in.received_at).order_by(_in.id.desc()).limit(1)).scalar() or 0
    many, moved_at = connection.execute(select(func.count(), func.max(_in.changed_at)).where(OPEN)).one()
    return (max(newest, moved_at or 0), newest, many)
