"""The threads people wrote to us from: the only proof that a reply is one."""

from __future__ import annotations

from sqlalchemy import Connection, select

from postroom.world.store.engine.database import Database
from postroom.world.store.engine.insert_for import insert_for
from postroom.world.store.tables.approvals import heard_threads


class StoredConversations:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def hear(self, channel: str, address: str, thread: str, now_us: int) -> None:
        """A message came in; for whoever receives it from the provider, never for a payload's claim."""

        def work(connection: Connection) -> None:
            row = {"channel": channel, "address": address, "thread": thread, "heard_at": now_us}
            connection.execute(insert_for(connection, heard_threads).values(row).on_conflict_do_nothing())

        await self._database.write(work)

    async def heard(self, channel: str, address: str, thread: str) -> bool:
        table = heard_threads.c
        wanted = select(table.heard_at).where(
            table.channel == channel, table.address == address, table.thread == thread
        )

        def work(connection: Connection) -> bool:
            return connection.execute(wanted).first() is not None

        return await self._database.read(work)
