"""Threads as an agent's inbox shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, Select, and_, func, select

from postroom.domain.intent import Intent, IntentEvent, IntentStatus
from postroom.store.database import Database
from postroom.store.intents_rows import read_event, read_intent
from postroom.store.tables.intents import intent_events, intent_members, intent_messages, intents

_TAKEN_IN: Final = 2  # the event that every intent has second
_UNANSWERED: Final = (IntentStatus.SUBMITTED, IntentStatus.DELIVERED, IntentStatus.ACKNOWLEDGED)


class StoredInbox:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def threads(
        self, agent: str, statuses: Sequence[IntentStatus], *, before: str | None, limit: int
    ) -> Sequence[Intent]:
        """Newest first."""
        asked = _of(agent).where(intents.c.status.in_([str(status) for status in statuses]))
        if before is not None:
            asked = asked.where(intents.c.id < before)
        asked = asked.order_by(intents.c.id.desc()).limit(limit)
        return await self._database.read(lambda connection: [read_intent(row) for row in connection.execute(asked)])

    async def arrived(self, agent: str, *, after: str | None, limit: int) -> Sequence[Intent]:
        """Open intents put to this agent, in the order they were taken in; a sender's own id says nothing of that."""
        taken_in = and_(intent_events.c.intent_id == intents.c.id, intent_events.c.seq == _TAKEN_IN)
        asked = (
            _of(agent)
            .join(intent_events, taken_in)
            .where(intents.c.from_agent != agent, intents.c.status.in_([str(one) for one in _UNANSWERED]))
        )
        if after is not None:
            moment = select(intent_events.c.id).where(
                intent_events.c.intent_id == after, intent_events.c.seq == _TAKEN_IN
            )
            asked = asked.where(intent_events.c.id > func.coalesce(moment.scalar_subquery(), after))
        asked = asked.order_by(intent_events.c.id).limit(limit)
        return await self._database.read(lambda connection: [read_intent(row) for row in connection.execute(asked)])

    async def concerns(self, agent: str, intent_id: str) -> bool:
        asked = select(intent_members.c.agent).where(
            intent_members.c.intent_id == intent_id, intent_members.c.agent == agent
        )
        return await self._database.read(lambda connection: connection.execute(asked).first() is not None)

    async def messages(self, intent_id: str, limit: int = 200) -> Sequence[tuple[str, str, str, int]]:
        """Id, author, text and time of everything that was said."""
        table = intent_messages.c
        asked = (
            select(table.id, table.author, table.message, table.created_at)
            .where(table.intent_id == intent_id)
            .order_by(table.id)
            .limit(limit)
        )

        def work(connection: Connection) -> list[tuple[str, str, str, int]]:
            return [(row.id, row.author, row.message, row.created_at) for row in connection.execute(asked)]

        return await self._database.read(work)

    async def changes(self, agent: str, *, after: str | None, limit: int) -> Sequence[IntentEvent]:
        asked = (
            select(intent_events)
            .join(intent_members, intent_members.c.intent_id == intent_events.c.intent_id)
            .where(intent_members.c.agent == agent)
        )
        if after is not None:
            asked = asked.where(intent_events.c.id > after)
        asked = asked.order_by(intent_events.c.id).limit(limit)
        return await self._database.read(lambda connection: [read_event(row) for row in connection.execute(asked)])


def _of(agent: str) -> Select[Any]:
    return (
        select(intents)
        .join(intent_members, intent_members.c.intent_id == intents.c.id)
        .where(intent_members.c.agent == agent)
    )
