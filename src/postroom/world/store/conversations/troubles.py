"""What keeps channels from hearing people, for those who look at the household from outside."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, select

from postroom.domain.inbound_trouble import InboundTrouble
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.insert_for import insert_for
from postroom.world.store.tables.inbound_troubles import inbound_troubles

_rows = inbound_troubles.c


class StoredTroubles:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin(self, trouble: InboundTrouble) -> None:
        """Another sentence about the same channel leaves it at the moment when the trouble began."""

        def work(connection: Connection) -> None:
            row = {"source": trouble.channel, "sentence": trouble.sentence, "since": trouble.since_us}
            put = insert_for(connection, inbound_troubles).values(row)
            said = {"sentence": trouble.sentence}
            connection.execute(put.on_conflict_do_update(index_elements=["source"], set_=said))

        await self._database.write(work)

    async def end(self, channel: str) -> None:
        if any(one.channel == channel for one in await self.listed()):
            gone = delete(inbound_troubles).where(_rows.source == channel)
            await self._database.write(lambda connection: connection.execute(gone).rowcount)

    async def listed(self) -> Sequence[InboundTrouble]:
        asked = select(inbound_troubles).order_by(_rows.source)

        def work(connection: Connection) -> list[InboundTrouble]:
            return [
                InboundTrouble(channel=row.source, sentence=row.sentence, since_us=row.since)
                for row in connection.execute(asked)
            ]

        return await self._database.read(work)
