"""What every store stands on: one way to run a piece of SQLAlchemy Core work, whichever database is behind it."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Table,
    Text,
    bindparam,
    false,
    func,
    insert,
    select,
    text,
    true,
    update,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import IntegrityError

from postroom.kernel.database.prepared import Prepared
from postroom.kernel.database.schema import SHARED, metadata
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.kernel.values.errors import StoreUnavailable

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql


Result = TypeVar("Result")


class Database(Protocol):
    """Work is a plain function of a connection; a write is one transaction and may run again if it failed."""

    async def read(self, work: Callable[[Connection], Result]) -> Result: ...

    async def write(self, work: Callable[[Connection], Result]) -> Result: ...

    async def migrate(self, show: Callable[[int, int], None] | None = None) -> tuple[str | None, str | None]:
        """To the newest schema; `show` hears how many steps are done, and of how many."""
        ...

    async def close(self) -> None: ...


# INSERT with ON CONFLICT: every database has it, and the library makes it for each of them alone.


def insert_for(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql  # 2 MB, which a household on SQLite does without

        return postgresql.insert(table)
    return sqlite.insert(table)


# A write that another process got in the way of is worth a second try.


async def write_twice(database: Database, work: Callable[[Connection], Result]) -> Result:
    """The work looks before it writes, so the second time it sees what was written meanwhile."""
    try:
        return await database.write(work)
    except IntegrityError:
        return await database.write(work)


# Whether there is a row, asked so that no planner reads a whole table for it.


def looked_up(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    """
    EXISTS, by one look into an index for each row that is asked about.

    PostgreSQL turns an EXISTS into a join or a hash of everything the conditions
    leave, which is the whole past of a table, for the hundred rows that a LIMIT wants.
    It takes a coalesce to hold for every other row; IS NOT NULL it takes to hold for
    nearly none, and then sorts all there is instead of following an index.
    """
    return func.coalesce(select(true()).where(*conditions).limit(1).scalar_subquery(), false())


# Reads that loops make again and again: as long as nothing was committed, the last answer stands.


class Repeated:
    """
    For answers that depend on the rows alone, not on the time, and that no caller changes.

    A household at rest has nothing to do but to look whether another process did something: on SQLite that is told
    by a number, in a fiftieth of the time of a read. A database that several machines share is asked each time.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._version: int | None = None
        self._answers: dict[Hashable, Any] = {}

    @property
    def is_spared(self) -> bool:
        """Whether most of what is asked here costs no read."""
        return isinstance(self._database, SqliteDatabase)

    async def read(self, asked: Hashable, work: Callable[[Connection], Result]) -> Result:
        version = self._database.version() if isinstance(self._database, SqliteDatabase) else None
        if version is None:
            return await self._database.read(work)
        if version != self._version:
            self._version, self._answers = version, {}
        answers = self._answers
        if asked not in answers:  # what is committed meanwhile has another version, and its own answers
            answers[asked] = await self._database.read(work)
        answer: Result = answers[asked]
        return answer


# How far a reader of a stream has come, over every restart.


inbound_offsets = Table(
    "inbound_offsets",
    metadata,
    Column("source", Text, primary_key=True),
    Column("position", BigInteger, nullable=False),
    schema=SHARED,
)


_MOVE_MARK: Final = Prepared(update(inbound_offsets).where(inbound_offsets.c.source == bindparam("its_source")))


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
            if not _MOVE_MARK.run(connection, {"position": position, "its_source": source}).rowcount:
                connection.execute(insert(inbound_offsets), {"source": source, "position": position})

        await write_twice(self._database, work)


# Writers that take turns, so that what is counted up is committed in its order.

PATIENCE_SECONDS: Final = 10.0  # a process that was stopped in between would keep everybody else from writing
_LOCK: Final = 0x6F72646572  # keeps this lock apart from any others
_IN_TURN: Final = Prepared(
    text("SELECT set_config('idle_in_transaction_session_timeout', :patience, true), pg_advisory_xact_lock(:lock)")
)


def wait_for_turn(connection: Connection, patience_seconds: float = PATIENCE_SECONDS) -> None:
    """
    Positions written from here on are nobody else's, because the next writer waits until this one has committed.

    So a position that can be seen is never followed by a lower one. Ask as late as
    possible: what comes between here and the commit is done by one at a time.
    SQLite lets one transaction write at a time anyway.
    """
    if connection.dialect.name == "postgresql":
        _IN_TURN.run(connection, {"patience": f"{patience_seconds * 1000:.0f}ms", "lock": _LOCK})


# What the processes of a household ring for each other.

ATTENTION_CHANNEL: Final = "postroom_attention"
PENDING_CHANNEL: Final = "postroom_pending"
SETTLED_CHANNEL: Final = "postroom_settled"
QUESTIONS_CHANNEL: Final = "postroom_questions"  # on PostgreSQL: who committed, and which question has a new event
THIS_PROCESS: Final = secrets.token_hex(4)


# Changes of questions that other processes committed, for those who follow them here.

QuestionCall = Callable[[str | None], None]  # the id, or None: some may have been missed


class QuestionNotices:
    """`are_heard` while a connection brings each of them at once; else they have to be looked for."""

    def __init__(self) -> None:
        self.are_heard = False
        self._calls: list[QuestionCall] = []

    def follow(self, call: QuestionCall) -> None:
        self._calls.append(call)

    def connected(self) -> None:
        self.are_heard = True
        self._tell(None)

    def lost(self) -> None:
        self.are_heard = False
        self._tell(None)

    def heard(self, payload: str) -> None:
        """Our own commits rang when they were made."""
        process, _, question_id = payload.partition(" ")
        if process != THIS_PROCESS:
            self._tell(question_id)

    def _tell(self, question_id: str | None) -> None:
        for call in self._calls:
            call(question_id)


# Group commit: many callers, one statement, and nobody in a hurry waits for a timer.

Item = TypeVar("Item")
_SMALLEST_HALF = 64  # a statement costs as much as fifteen of its rows


class Coalescer(Generic[Item, Result]):
    """
    Flushes whatever is waiting as soon as the flush before it has returned.

    A lone caller pays one round trip; a crowd shares it. `flush` answers in the
    order it was asked. When the store is away, everyone in that batch learns it;
    any other failure may be the fault of one of them, so each is tried alone.

    `by_halves` is for a store that works beside us and not in our interpreter: a
    crowd is written in parts, so that those who have been answered go on while the
    others are written. All at once, we would only ever wait for each other.
    """

    def __init__(
        self,
        flush: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]],
        *,
        most: int = 500,
        by_halves: bool = False,
    ) -> None:
        self._flush = flush
        self._most = most
        self._by_halves = by_halves
        self._waiting: deque[tuple[Item, asyncio.Future[Result]]] = deque()
        self._flushing: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # asking for it costs a call of the system

    async def submit(self, item: Item) -> Result:
        return await self.put(item)

    def put(self, item: Item) -> asyncio.Future[Result]:
        """For whoever has something else to do meanwhile: it takes no task to wait in."""
        self._loop = self._loop or asyncio.get_running_loop()
        future: asyncio.Future[Result] = self._loop.create_future()
        self._waiting.append((item, future))
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush_while_any_wait())
        return future

    async def _flush_while_any_wait(self) -> None:
        while waiting := len(self._waiting):
            share = max(_SMALLEST_HALF, waiting // 2) if self._by_halves else waiting
            await self._answer([self._waiting.popleft() for _ in range(min(waiting, share, self._most))])

    async def _answer(self, batch: Sequence[tuple[Item, asyncio.Future[Result]]]) -> None:
        try:
            results = await self._flush([item for item, _ in batch])
        except Exception as error:
            if len(batch) > 1 and not isinstance(error, StoreUnavailable):
                for one in batch:
                    await self._answer([one])
                return
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), result in zip(batch, results, strict=True):
            if not future.done():
                future.set_result(result)
