"""What people wrote to us, stored before anything is done about it; every change names the status it expects."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, Select, func, select, update

from postroom.domain.assurance import Flag
from postroom.domain.attachment import attachments_of_text, attachments_text
from postroom.domain.conversation_states import WITH_BUTLER, InboundMove, InboundStatus, moved
from postroom.domain.inbound_message import InboundMessage
from postroom.domain.kept_message import KeptMessage, RoutedMessage, RouteKind
from postroom.domain.storable_text import storable
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.insert_for import insert_for
from postroom.world.store.engine.rows import read, values
from postroom.world.store.tables.conversations import OPEN, inbound_messages
from postroom.world.store.tables.people import people

_c = inbound_messages.c
_MOVES = {RouteKind.BUTLER: InboundMove.ROUTE, RouteKind.IGNORED: InboundMove.REFUSE}
_MOVES |= {RouteKind.STRANGER: InboundMove.REFUSE, RouteKind.LIMIT: InboundMove.REFUSE}


class StoredInbound:
    def __init__(self, database: Database, mint: Callable[[int], str]) -> None:
        self._database = database
        self._mint = mint

    async def keep(self, message: InboundMessage, now_us: int) -> KeptMessage:
        """Once for each message of the provider; the second time, as it is by now."""
        row = _columns(message, self._mint(now_us), now_us)

        def work(connection: Connection) -> KeptMessage:
            connection.execute(insert_for(connection, inbound_messages).values(row).on_conflict_do_nothing())
            named = (_c.channel == message.channel, _c.event_id == message.event_id)
            return kept_of(connection.execute(select(inbound_messages).where(*named)).one())

        return await self._database.write(work)

    async def decide(
        self, kept: KeptMessage, routed: RoutedMessage, person: str | None, now_us: int
    ) -> KeptMessage | None:
        """The message as decided; None when that was done before. Words stay only for a butler to read."""
        move = _MOVES.get(routed.kind, InboundMove.HANDLE)
        words = storable(routed.words) if routed.kind is RouteKind.BUTLER else None
        values = {
            "kind": str(routed.kind),
            "target": routed.target,
            "reason": routed.reason,
            "person": person,
            "text": words,
            **({} if routed.kind is RouteKind.BUTLER else {"subject": None, "attachments": None}),
        }
        if not await self._move(kept, move, values, now_us):
            return None
        message = replace(kept.message, text=words)
        return replace(
            kept,
            message=message,
            status=moved(kept.status, move),
            person=person,
            kind=routed.kind,
            target=routed.target,
            reason=routed.reason,
        )

    async def move(
        self,
        kept: KeptMessage,
        move: InboundMove,
        now_us: int,
        *,
        session_id: str | None = None,
        reason: str = "",
        tokens: int = 0,
    ) -> bool:
        """False when it has moved on meanwhile."""
        values = {"session_id": session_id, "reason": reason, "tokens": tokens}
        return await self._move(kept, move, {name: one for name, one in values.items() if one}, now_us)

    async def get(self, message_id: str) -> KeptMessage | None:
        found = await self._listed(select(inbound_messages).where(_c.id == message_id))
        return found[0] if found else None

    async def subject(self, channel: str, address: str, message_id: str) -> str | None:
        """Of a letter that came from this very address."""
        named = (_c.channel == channel, _c.event_id == f"message:{address}:{message_id}")
        asked = select(_c.subject).where(*named)
        return await self._database.read(lambda connection: connection.execute(asked).scalar())

    async def with_name(self, message_id: str) -> tuple[KeptMessage | None, str | None]:
        """The message and the name of who wrote it, where both are known."""
        kept = await self.get(message_id)
        named = select(people.c.name).where(people.c.id == (kept.person if kept else None))
        return kept, await self._database.read(lambda connection: connection.execute(named).scalar())

    async def with_butlers(self, limit: int = 500) -> Sequence[KeptMessage]:
        """Everything that is not yet answered, oldest first."""
        return await self._listed(_with_butlers().order_by(_c.id).limit(limit))

    async def open_in(self, person: str, channel: str, place: str) -> Sequence[KeptMessage]:
        here = (_c.person == person, _c.channel == channel, _c.place == place)
        return await self._listed(_with_butlers().where(*here).order_by(_c.id))

    async def undecided(self, before_us: int, limit: int = 100) -> Sequence[KeptMessage]:
        """What was read from the provider and then forgotten by a failure of ours."""
        old = (_c.status == str(InboundStatus.RECEIVED), OPEN, _c.received_at < before_us)
        return await self._listed(select(inbound_messages).where(*old).order_by(_c.id).limit(limit))

    async def sessions_since(self, person: str, since_us: int) -> int:
        mine = (_c.person == person, _c.kind == str(RouteKind.BUTLER), _c.received_at >= since_us)
        asked = select(func.count()).select_from(inbound_messages).where(*mine)
        return int(await self._database.read(lambda connection: connection.execute(asked).scalar_one()))

    async def tokens_since(self, person: str, since_us: int) -> int:
        mine = (_c.person == person, _c.kind == str(RouteKind.BUTLER), _c.received_at >= since_us)
        asked = select(func.coalesce(func.sum(_c.tokens), 0)).where(*mine)
        return int(await self._database.read(lambda connection: connection.execute(asked).scalar_one()))

    async def last(self, person: str, channel: str, place: str) -> KeptMessage | None:
        """The last one that a butler was to answer there."""
        here = (_c.person == person, _c.channel == channel, _c.place == place, _c.kind == str(RouteKind.BUTLER))
        found = await self._listed(select(inbound_messages).where(*here).order_by(_c.id.desc()).limit(1))
        return found[0] if found else None

    async def _move(self, kept: KeptMessage, move: InboundMove, values: dict[str, Any], now_us: int) -> bool:
        expected = (_c.id == kept.id, _c.status == str(kept.status))
        changed = {**values, "status": str(moved(kept.status, move)), "changed_at": now_us}
        statement = update(inbound_messages).where(*expected).values(changed)
        return await self._database.write(lambda connection: connection.execute(statement).rowcount == 1)

    async def _listed(self, asked: Select[Any]) -> list[KeptMessage]:
        return await self._database.read(lambda connection: [kept_of(row) for row in connection.execute(asked)])


def _with_butlers() -> Select[Any]:
    return select(inbound_messages).where(_c.status.in_(sorted(map(str, WITH_BUTLER))), OPEN)


def _columns(message: InboundMessage, new_id: str, now_us: int) -> dict[str, Any]:
    return values(
        message,
        without=("original", "offers", "files"),
        id=new_id,
        event_id=message.event_id,
        place=message.places[0],
        places=json.dumps(message.places),
        thread=message.thread_identity,
        flags=json.dumps(sorted(message.flags)),
        text=None if message.text is None else storable(message.text),
        subject=None if message.subject is None else storable(message.subject),
        attachments=attachments_text(message.files),
        received_at=now_us,
        status=str(InboundStatus.RECEIVED),
        reason="",
        changed_at=now_us,
    )


def kept_of(row: Row[Any]) -> KeptMessage:
    message = read(
        InboundMessage,
        row,
        places=tuple(json.loads(row.places)),
        flags=frozenset(Flag(one) for one in json.loads(row.flags)),
        files=attachments_of_text(row.attachments),
        original=None,
        offers=(),
    )
    return read(KeptMessage, row, message=message, received_us=row.received_at, changed_us=row.changed_at)
