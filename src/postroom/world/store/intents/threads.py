"""Threads as an agent's inbox shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, ScalarSelect, Select, and_, func, select

from postroom.domain.intent import AgentIntent, IntentEvent, IntentStatus
from postroom.world.store.engine.database import Database
from postroom.world.store.intents.rows import read_event, read_intent
from postroom.world.store.tables.intents import intent_events, intent_members, intent_messages, intents

_UNANSWERED: Final = (IntentStatus.SUBMITTED, IntentStatus.DELIVERED, IntentStatus.ACKNOWLEDGED)


class StoredInbox:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def threads(
        self, agent: str, statuses: Sequence[IntentStatus], *, before: str | None, limit: int
    ) -> Sequence[AgentIntent]:
        """Newest first."""
        asked = _of(agent).where(intents.c.status.in_([str(status) for status in statuses]))
        if before is not None:
            asked = asked.where(intents.c.id < before)
        asked = asked.order_by(intents.c.id.desc()).limit(limit)
        return await self._database.read(lambda connection: [read_intent(row) for row in connection.execute(asked)])

    async def arrived(
        self, agent: str, *, after: str | int | None, limit: int, statuses: Sequence[IntentStatus] = _UNANSWERED
    ) -> Sequence[tuple[int, AgentIntent]]:
        """
        Intents put to this agent, each with its place, in the order in which they were put to it.

        `after` is a place or an intent. After one that is not known any more come all: better to show a question
        twice than never.
        """
        member = intent_members.alias()
        place = select(member.c.position).where(member.c.agent == agent, member.c.intent_id == after)
        asked = (
            _of(agent)
            .add_columns(intent_members.c.position.label("place"))
            .where(intents.c.from_agent != agent, intents.c.status.in_([str(one) for one in statuses]))
            .where(
                intent_members.c.position
                > (after if isinstance(after, int) else func.coalesce(place.scalar_subquery(), 0))
            )
            .order_by(intent_members.c.position)
            .limit(limit)
        )
        return await self._database.read(
            lambda connection: [(row.place, read_intent(row)) for row in connection.execute(asked)]
        )

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
        """In the order in which they were committed, so that nothing comes to stand before what was read already."""
        asked = _events_of_member(agent, select(intent_events))
        if after is not None:
            asked = asked.where(intent_events.c.position > func.coalesce(_place(after), _place_by_time(agent, after)))
        asked = asked.order_by(intent_events.c.position).limit(limit)
        return await self._database.read(lambda connection: [read_event(row) for row in connection.execute(asked)])


def _place(event_id: str) -> ScalarSelect[int]:
    event = intent_events.alias()
    return select(event.c.position).where(event.c.id == event_id).scalar_subquery()


def _place_by_time(agent: str, event_id: str) -> ScalarSelect[int]:
    """Of an event that was removed with its intent: before the first one this agent has with a younger id."""
    younger = _events_of_member(agent, select(func.min(intent_events.c.position) - 1)).where(
        intent_events.c.id > event_id
    )
    return younger.correlate(None).scalar_subquery()


def _events_of_member(agent: str, asked: Select[Any]) -> Select[Any]:
    mine = and_(intent_members.c.intent_id == intent_events.c.intent_id, intent_members.c.agent == agent)
    return asked.select_from(intent_events.join(intent_members, mine))


def _of(agent: str) -> Select[Any]:
    return (
        select(intents)
        .join(intent_members, intent_members.c.intent_id == intents.c.id)
        .where(intent_members.c.agent == agent)
    )
