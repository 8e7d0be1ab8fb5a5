"""What was said in a conversation: read from the messages that came in and the ledger of those that went out."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, Subquery, and_, exists, or_, select

from postroom.domain.conversation_states import InboundStatus
from postroom.domain.delivery import Format, Intent
from postroom.domain.inbound_message import InboundMessage
from postroom.domain.kept_message import KeptMessage, RouteKind, SentBefore, SpokenTurn
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

    async def replied_to(self, message: InboundMessage) -> SentBefore | None:
        """The message of ours that this one replies to."""
        if not (message.replies_to or message.answers):
            return None
        newest, received = _newest(message.channel), delivery_receipts.c
        there = or_(newest.c.address.in_(message.places), received.conversation.in_(message.places))
        named = or_(received.provider_delivery_id == message.replies_to, newest.c.id == message.answers)
        return await self._sent(newest, there, named)

    async def last_sent(self, message: InboundMessage, besides: Collection[str]) -> SentBefore | None:
        """The last that was said where this one was written, by others than these."""
        newest, received = _newest(message.channel), delivery_receipts.c
        there = or_(newest.c.address.in_(message.places), received.conversation.in_(message.places))
        return await self._sent(newest, there, newest.c.origin_butler.not_in(besides))

    async def _sent(self, newest: Subquery, *wanted: ColumnElement[bool]) -> SentBefore | None:
        asked = (
            select(newest, _in.target)
            .join(delivery_receipts, delivery_receipts.c.delivery_request_id == newest.c.id)
            .join(inbound_messages, _in.id == newest.c.request_id, isouter=True)
            .where(*wanted)
            .order_by(newest.c.id.desc())
            .limit(1)
        )

        def work(connection: Connection) -> SentBefore | None:
            row = connection.execute(asked).first()
            return None if row is None else _sent_before(row)

        return await self._database.read(work)


def _newest(channel: str) -> Subquery:
    """Among these we look, for receipts have no index by the provider's names."""
    return (
        select(
            _out.id,
            _out.address,
            _out.origin_butler,
            _out.request_id,
            _out.message_content,
            _out.format,
            _out.subject,
            _out.created_at,
        )
        .where(_out.channel == channel, _SPOKEN)
        .order_by(_out.id.desc())
        .limit(_LOOKED_AT)
        .subquery("newest")
    )


def _sent_before(row: Row[Any]) -> SentBefore:
    return SentBefore(
        id=row.id,
        by=row.target or row.origin_butler,
        address=row.address,
        text=row.message_content,
        format=Format(row.format or Format.PLAIN),
        subject=row.subject,
        at_us=row.created_at,
    )


def _answers(connection: Connection, ids: list[str], channel: str, places: list[Any]) -> list[SpokenTurn]:
    asked = select(_out.origin_butler, _out.message_content, _out.created_at).where(
        _out.request_id.in_(ids), _out.channel == channel, _out.address.in_(places), _SPOKEN
    )
    return [
        SpokenTurn(by=row.origin_butler, text=row.message_content, at_us=row.created_at)
        for row in connection.execute(asked)
    ]
