"""What was said in a conversation: read from the messages that came in and the ledger of those that went out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, Select, and_, exists, or_, select

from postroom.domain.conversation_states import InboundStatus
from postroom.domain.delivery import Intent
from postroom.domain.inbound_message import InboundMessage
from postroom.domain.kept_message import KeptMessage, RouteKind, SpokenTurn
from postroom.domain.session import Session
from postroom.world.store.engine.database import Database
from postroom.world.store.tables.conversations import inbound_messages
from postroom.world.store.tables.deliveries import delivery_receipts, delivery_requests

_in, _out = inbound_messages.c, delivery_requests.c
_LOOKED_AT: Final = 20_000
_SPOKEN = _out.intent.in_([str(Intent.SEND), str(Intent.REPLY)])


class StoredTalk:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def replied(self, message_id: str) -> bool:
        """Whether the butler's own answer, in the place where the message was written, is in the ledger."""
        asked = select(_in.target, _in.channel, _in.places).where(_in.id == message_id)

        def work(connection: Connection) -> bool:
            row = connection.execute(asked).first()
            if row is None:
                return False
            here = and_(_out.channel == row.channel, _out.address.in_(json.loads(row.places)))
            own = and_(_out.request_id == message_id, _out.origin_butler == row.target, _SPOKEN)
            return bool(connection.execute(select(exists().where(here, own))).scalar())

        return await self._database.read(work)

    async def is_over(self, session: Session) -> bool:
        """Whether the message that a session is for is answered by it already, or stopped."""
        asked = select(_in.status).where(_in.id == session.request_id)
        status = await self._database.read(lambda connection: connection.execute(asked).scalar())
        if status is None:
            return False
        return status == str(InboundStatus.STOPPED) or await self.replied(session.request_id or "")

    async def turns(self, kept: KeptMessage, limit: int) -> Sequence[SpokenTurn]:
        person, channel, place = kept.conversation
        earlier = (
            select(_in.id, _in.text, _in.received_at)
            .where(_in.person == person, _in.channel == channel, _in.place == place, _in.id < kept.id)
            .where(_in.kind == str(RouteKind.BUTLER), _in.text.is_not(None))
            .order_by(_in.id.desc())
            .limit(limit)
        )

        def work(connection: Connection) -> list[SpokenTurn]:
            asked = list(connection.execute(earlier))
            said = [SpokenTurn(by="person", text=row.text, at_us=row.received_at) for row in asked]
            said += _answers(connection, [row.id for row in asked], channel, list(kept.message.places))
            return sorted(said, key=lambda one: one.at_us)[-limit:]

        return await self._database.read(work)

    async def whose(self, message: InboundMessage) -> str | None:
        """Whose message this one replies to; of what the household said for a butler, that butler."""
        asked = _replied_to(message)

        def work(connection: Connection) -> str | None:
            row = connection.execute(asked).first()
            return None if row is None else row.target or row.origin_butler

        return await self._database.read(work)


def _replied_to(message: InboundMessage) -> Select[Any]:
    """Among the newest deliveries of the channel, for receipts have no index by the provider's names."""
    newest = (
        select(_out.id, _out.address, _out.origin_butler, _out.request_id)
        .where(_out.channel == message.channel)
        .order_by(_out.id.desc())
        .limit(_LOOKED_AT)
        .subquery("newest")
    )
    one, received = newest.c, delivery_receipts.c
    there = or_(one.address.in_(message.places), received.conversation.in_(message.places))
    named = or_(received.provider_delivery_id == message.replies_to, one.id == message.answers)
    return (
        select(one.origin_butler, _in.target)
        .join_from(newest, delivery_receipts, received.delivery_request_id == one.id)
        .join(inbound_messages, _in.id == one.request_id, isouter=True)
        .where(there, named)
        .order_by(one.id.desc())
        .limit(1)
    )


def _answers(connection: Connection, ids: list[str], channel: str, places: list[Any]) -> list[SpokenTurn]:
    asked = select(_out.origin_butler, _out.message_content, _out.created_at).where(
        _out.request_id.in_(ids), _out.channel == channel, _out.address.in_(places), _SPOKEN
    )
    return [
        SpokenTurn(by=row.origin_butler, text=row.message_content, at_us=row.created_at)
        for row in connection.execute(asked)
    ]
