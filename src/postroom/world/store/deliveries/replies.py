"""What people wrote back, as it came: beside the answer that was read out of it, for those who look into the record."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, func, select

from postroom.domain.inbound_message import InboundMessage
from postroom.domain.storable_text import storable
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.insert_for import insert_for
from postroom.world.store.tables.deliveries import delivery_replies, delivery_requests

MOST: Final = 50  # of one delivery
_replies = delivery_replies.c


class StoredReplies:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, message: InboundMessage, now_us: int) -> None:
        """Once, and only of a delivery that is ours and still in the ledger."""

        def work(connection: Connection) -> None:
            mine = select(delivery_requests.c.id).where(
                delivery_requests.c.id == message.answers, delivery_requests.c.channel == message.channel
            )
            many = select(func.count()).where(_replies.delivery_request_id == message.answers)
            if connection.execute(mine).first() is None or connection.execute(many).scalar_one() >= MOST:
                return
            row = {
                "delivery_request_id": message.answers,
                "event_id": message.event_id,
                "sender": message.sender or "",
                "original": storable(message.original or ""),
                "at": message.said_at_us or now_us,
            }
            connection.execute(insert_for(connection, delivery_replies).values(row).on_conflict_do_nothing())

        await self._database.write(work)
