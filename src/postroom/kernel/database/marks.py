"""How far a reader of a stream has come, over every restart."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Connection, Table, Text, insert, select, update

from postroom.kernel.database.engine import Database, Repeated, write_twice
from postroom.kernel.database.schema import SHARED, metadata

inbound_offsets = Table(
    "inbound_offsets",
    metadata,
    Column("source", Text, primary_key=True),
    Column("position", BigInteger, nullable=False),
    schema=SHARED,
)


class Marks:
    """A position for each source: a number of a provider's, a place in a feed, or a moment."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._repeated = Repeated(database)

    async def offset(self, source: str) -> int | None:
        asked = select(inbound_offsets.c.position).where(inbound_offsets.c.source == source)
        return await self._repeated.read(source, lambda connection: connection.execute(asked).scalar())

    async def save_offset(self, source: str, position: int) -> None:
        def work(connection: Connection) -> None:
            mine = inbound_offsets.c.source == source
            if not connection.execute(update(inbound_offsets).where(mine).values(position=position)).rowcount:
                connection.execute(insert(inbound_offsets), {"source": source, "position": position})

        await write_twice(self._database, work)
