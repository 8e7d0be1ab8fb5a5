"""What people wrote to us, stored before anything is done about it; every change names the status it expects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    Connection,
    Index,
    Row,
    Select,
    Table,
    Text,
    UniqueConstraint,
    and_,
    delete,
    func,
    select,
    text,
    update,
)

from postroom.conversations.model import (
    SETTLED,
    WITH_BUTLER,
    InboundMove,
    InboundStatus,
    KeptMessage,
    RoutedMessage,
    RouteKind,
    moved,
)
from postroom.kernel.database.engine import Database, insert_for
from postroom.kernel.database.rows import read, values
from postroom.kernel.database.schema import SHARED, metadata, one_of, partial_index
from postroom.kernel.values.fields import storable
from postroom.message.attachment import Attachment, attachments_of_text, attachments_text
from postroom.message.inbound import InboundMessage, InboundTrouble
from postroom.people.store.tables import people
from postroom.questions.store.presentations import Written

OPEN = text("status IN ('received', 'routed', 'waiting', 'running')")
# `text` is kept of what a butler was given, for as long as words are kept; of everything else until it is decided.
inbound_messages = Table(
    "inbound_messages",
    metadata,
    Column("id", Text, primary_key=True),
    Column("channel", Text, nullable=False),
    Column("event_id", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("message_id", Text, nullable=False),
    Column("place", Text, nullable=False),
    Column("places", Text, nullable=False),
    Column("thread", Text, nullable=False),
    Column("sender", Text),
    Column("assurance", Text, nullable=False),
    Column("flags", Text, nullable=False),
    Column("alone", Boolean, nullable=False),
    Column("addressed", Boolean, nullable=False),
    Column("replies_to", Text),
    Column("answers", Text),
    Column("text", Text),
    Column("said_at", BigInteger),
    Column("received_at", BigInteger, nullable=False),
    Column("status", Text, nullable=False),
    Column("person", Text),
    Column("kind", Text),
    Column("target", Text),
    Column("reason", Text, nullable=False),
    Column("session_id", Text),
    Column("tokens", BigInteger, nullable=False, server_default="0"),
    Column("changed_at", BigInteger, nullable=False),
    Column("subject", Text),
    Column("attachments", Text),
    UniqueConstraint("channel", "event_id"),
    CheckConstraint(one_of("status", InboundStatus), name="status"),
    Index("ix_inbound_messages_conversation", "person", "channel", "place", "id"),
    Index("ix_inbound_messages_target", "person", "channel", "place", "target", "id"),
    Index("ix_inbound_messages_received_at", "received_at"),
    partial_index("ix_inbound_messages_open", "id", where=OPEN),
    schema=SHARED,
)
ERASED: Final[dict[str, None]] = {"text": None, "subject": None, "attachments": None}
"""What people wrote and sent; when they did, and what became of it, stays."""
_c = inbound_messages.c
_MOVES = {RouteKind.BUTLER: InboundMove.ROUTE}
_MOVES |= dict.fromkeys((RouteKind.IGNORED, RouteKind.STRANGER, RouteKind.LIMIT), InboundMove.REFUSE)


class StoredInbound:
    def __init__(self, database: Database, mint: Callable[[int], str]) -> None:
        self._database = database
        self._mint = mint

    async def keep(self, message: InboundMessage, now_us: int) -> KeptMessage:
        """Once for each message of the provider; the second time, as it is by now."""
        row = _columns(message, self._mint(now_us), now_us)

        def work(connection: Connection) -> KeptMessage:
            connection.execute(insert_for(connection, inbound_messages).values(row).on_conflict_do_nothing())
            return kept_of(connection.execute(select(inbound_messages).where(_is(message))).one())

        return await self._database.write(work)

    async def named(self, message: InboundMessage) -> KeptMessage:
        """As it is by now; every message is kept before anything is done about it."""
        return (await self._listed(select(inbound_messages).where(_is(message))))[0]

    async def decide(self, message: InboundMessage, routed: RoutedMessage, person: str | None, now_us: int) -> bool:
        """
        False when that was done before. Words stay only for a butler to read, files also for the one that the person
        has yet to name.
        """
        is_for_butler, received = routed.kind is RouteKind.BUTLER, InboundStatus.RECEIVED
        decided = {
            "kind": str(routed.kind),
            "target": routed.target,
            "reason": routed.reason,
            "person": person,
            **ERASED,
            "status": str(moved(received, _MOVES.get(routed.kind, InboundMove.HANDLE))),
            "changed_at": now_us,
        }
        if is_for_butler:
            del decided["subject"]
            decided |= {"text": storable(routed.words), "attachments": attachments_text(message.files)}
        elif routed.kind is RouteKind.CHOICE:
            del decided["attachments"]
        statement = update(inbound_messages).where(_is(message), _c.status == str(received)).values(decided)
        return await self._database.write(lambda connection: connection.execute(statement).rowcount == 1)

    async def unclaimed(self, person: str, message: InboundMessage, since_us: int) -> tuple[Attachment, ...]:
        """Files that they sent here lately for a butler whom they had yet to name."""
        here = (_c.person == person, _c.channel == message.channel, _c.place == message.places[0])
        last = select(func.max(_c.id)).where(*here, _c.kind == str(RouteKind.BUTLER)).scalar_subquery()
        choices = (_c.kind == str(RouteKind.CHOICE), _c.received_at >= since_us, _c.id > func.coalesce(last, ""))
        found = await self._listed(select(inbound_messages).where(*here, *choices).order_by(_c.id))
        return tuple(file for one in found for file in one.message.files)

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
        given = {"session_id": session_id, "reason": reason, "tokens": tokens}
        changed = {"status": str(moved(kept.status, move)), "changed_at": now_us}
        expected = (_c.id == kept.id, _c.status == str(kept.status))
        statement = update(inbound_messages).where(*expected)
        statement = statement.values({**changed, **{name: one for name, one in given.items() if one}})
        return await self._database.write(lambda connection: connection.execute(statement).rowcount == 1)

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

    async def _listed(self, asked: Select[Any]) -> list[KeptMessage]:
        return await self._database.read(lambda connection: [kept_of(row) for row in connection.execute(asked)])


def _is(message: InboundMessage) -> ColumnElement[bool]:
    return and_(_c.channel == message.channel, _c.event_id == message.event_id)


def _with_butlers() -> Select[Any]:
    return select(inbound_messages).where(_c.status.in_(sorted(map(str, WITH_BUTLER))), OPEN)


def _columns(message: InboundMessage, new_id: str, now_us: int) -> dict[str, Any]:
    return values(
        message,
        without=("original", "offers", "files"),
        id=new_id,
        event_id=message.event_id,
        place=message.places[0],
        thread=message.thread_identity,
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
        files=attachments_of_text(row.attachments),
        original=None,
        offers=(),
    )
    return read(KeptMessage, row, message=message, received_us=row.received_at, changed_us=row.changed_at)


# For those who hold a connection already: what people wrote, wherever they did.


def _is_known(connection: Connection, channel: str, event_id: str) -> bool:
    same = (inbound_messages.c.channel == channel, inbound_messages.c.event_id == event_id)
    return connection.execute(select(inbound_messages.c.id).where(*same).limit(1)).first() is not None


def _last_us(connection: Connection, person: str, channel: str, place: str) -> int | None:
    """When they last wrote there; a message that is being heard has no person yet."""
    table = inbound_messages.c
    theirs = (table.person == person, table.channel == channel, table.place == place)
    last = select(table.received_at).where(*theirs).order_by(table.id.desc()).limit(1)
    return connection.execute(last).scalar()


WRITTEN: Final = Written(is_known=_is_known, last_us=_last_us)


# Erase what a person wrote to butlers, as far as it is over; when and what became of it stays.


def erase_written(connection: Connection, person_id: str, _now_us: int) -> int:
    table = inbound_messages.c
    over = (table.person == person_id, table.status.in_(sorted(map(str, SETTLED))))
    return connection.execute(update(inbound_messages).where(*over).values(ERASED)).rowcount


# Whether anything about what people write has changed, for pages that are open.


class TalkPulse:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def pulse(self) -> tuple[int, ...]:
        """The moment of the newest change, then how much there is; only what is still open is counted."""

        def work(connection: Connection) -> tuple[int, ...]:
            newest = connection.execute(select(_c.received_at).order_by(_c.id.desc()).limit(1)).scalar() or 0
            many, moved_at = connection.execute(select(func.count(), func.max(_c.changed_at)).where(OPEN)).one()
            return (max(newest, moved_at or 0), newest, many)

        return await self._database.read(work)


# What keeps channels from hearing people, for as long as it does.

inbound_troubles = Table(
    "inbound_troubles",
    metadata,
    Column("source", Text, primary_key=True),
    Column("sentence", Text, nullable=False),
    Column("since", BigInteger, nullable=False),
    schema=SHARED,
)
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
            return [read(InboundTrouble, row, channel=row.source) for row in connection.execute(asked)]

        return await self._database.read(work)
