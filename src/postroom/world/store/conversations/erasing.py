"""Erase what a person wrote to butlers, as far as it is over; when and what became of it stays."""

from __future__ import annotations

from sqlalchemy import Connection, update

from postroom.domain.conversation_states import SETTLED
from postroom.world.store.tables.conversations import ERASED, inbound_messages


def erase_written(connection: Connection, person_id: str) -> int:
    table = inbound_messages.c
    over = (table.person == person_id, table.status.in_(sorted(map(str, SETTLED))))
    return connection.execute(update(inbound_messages).where(*over).values(ERASED)).rowcount
