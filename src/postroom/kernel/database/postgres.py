"""PostgreSQL: connections of their own for the hot statements, SQLAlchemy for everything else."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import urlsplit

import asyncpg
from sqlalchemy import Connection as SqlConnection
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from postroom.kernel.database import schema as migrate
from postroom.kernel.database.engine import (
    ATTENTION_CHANNEL,
    PENDING_CHANNEL,
    QUESTIONS_CHANNEL,
    SETTLED_CHANNEL,
    THIS_PROCESS,
    QuestionNotices,
)
from postroom.kernel.running.clock import Overdue
from postroom.kernel.running.loop import Loops, Signal
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.ids import DeliveryId, seconds

# A few connections, handed out and back without a task or a timer for each time.

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

_LONGEST_REST_SECONDS = 300.0  # what lies between us and the server may have forgotten an older one


class DatabaseConnections:
    """
    Opened when they are needed, at most so many; whoever finds them all lent out waits in line.

    A short statement costs less than a general pool's ceremony around it. Whoever borrows
    one gives it back, or ends it when it is not certain in what state it is.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        *,
        most: int,
        longest_rest_seconds: float = _LONGEST_REST_SECONDS,
    ) -> None:
        self._connect = connect
        self._most = most
        self._longest_rest_seconds = longest_rest_seconds
        self._free: list[tuple[Connection, float]] = []  # and since when; the last one back goes out first
        self._lent: set[Connection] = set()
        self._opening = 0
        self._line: deque[asyncio.Future[None]] = deque()
        self._closed = False

    async def borrow(self) -> Connection:
        while not (connection := self._take()):
            if self._closed:
                raise asyncpg.InterfaceError("the connections are closed")
            if len(self._lent) + self._opening < self._most:
                connection = await self._open()
                break
            await self._wait()
        self._lent.add(connection)
        return connection

    def give_back(self, connection: Connection) -> None:
        self._lent.discard(connection)
        if not connection.is_closed():
            if self._closed or connection.is_in_transaction():
                connection.terminate()
            else:
                self._free.append((connection, _now()))
        self._next()

    async def close(self, seconds: float) -> None:
        """Politely to those that are free; the others have had their time."""
        self._closed = True
        for connection, _ in self._free:
            try:
                await connection.close(timeout=seconds)
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
                connection.terminate()
        self._free.clear()
        for connection in self._lent:
            connection.terminate()
        while self._line:
            self._next()

    def _take(self) -> Connection | None:
        while self._free:
            connection, since = self._free.pop()
            if connection.is_closed():
                continue
            if _now() - since <= self._longest_rest_seconds:
                return connection
            connection.terminate()
        return None

    async def _open(self) -> Connection:
        self._opening += 1
        try:
            return await self._connect()
        except BaseException:
            self._next()  # whoever waits may try what we could not
            raise
        finally:
            self._opening -= 1

    async def _wait(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                with suppress(ValueError):  # whoever was to be next may have been looked for in between
                    self._line.remove(turn)
            else:
                self._next()  # it was our turn already: it is somebody else's now
            raise

    def _next(self) -> None:
        while self._line:
            if not (turn := self._line.popleft()).done():
                turn.set_result(None)
                return


def _now() -> float:
    return asyncio.get_running_loop().time()


# The database.

Result = TypeVar("Result")
_PATIENCE_SECONDS = 30.0  # a server that answers nothing is as good as away
_HOT_SECONDS = 10.0  # others wait behind a hot statement
_CLOSE_SECONDS = 2.0
_CACHED_STATEMENTS = 100
_OTHER_STATEMENTS = 500  # a question alone takes fifty from asked to answered; what falls out is prepared again
# A prepared statement keeps the plan it was given when the ledger was new and small, and a small table is read whole;
# then every settlement reads all there is, until the server gathers statistics. Each hot statement has its index, so
# one plan serves for all values: as its statistics fall, the server might otherwise plan a claim anew each time, which
# takes five times as long as the claim.
_BY_INDEX = "SET enable_seqscan = off; SET jit = off; SET plan_cache_mode = force_generic_plan"
_UNNAMED: dict[str, Any] = {
    "statement_cache_size": 0,
    "prepared_statement_cache_size": 0,
    "prepared_statement_name_func": lambda: "",
}

_UNREACHABLE = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InvalidAuthorizationSpecificationError,  # a password is being changed, or the rules of who may come in
    asyncpg.LockNotAvailableError,  # somebody has it for longer than we wanted to wait
    asyncpg.InvalidCatalogNameError,  # the database is being put back
)
_ROLLED_BACK = (
    asyncpg.TransactionRollbackError,  # a deadlock, or somebody else was first: nothing of it was written
    asyncpg.InvalidCachedStatementError,  # a table was changed since the statement was planned
)
AWAY = (*_UNREACHABLE, *_ROLLED_BACK)  # for a moment: the same call may be made again


class PostgresDatabase:
    """
    `prepared` is off behind a pooler that hands every transaction to another server
    connection: a statement prepared on one of them is unknown on the next.
    """

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 8,
        other_pool_size: int = 10,
        prepared: bool = True,
        listen_url: str | None = None,
    ) -> None:
        self._url = url
        self._listen_url = listen_url or url
        self._prepared = prepared
        self._hot = DatabaseConnections(self._connect_hot, most=pool_size)
        self._overdue = Overdue()
        self._engine: AsyncEngine = create_async_engine(
            _sqlalchemy_url(url),
            connect_args={"prepared_statement_cache_size": _OTHER_STATEMENTS} if prepared else _UNNAMED,
            pool_size=other_pool_size,  # one that is closed behind each crowd is opened and prepared anew for the next
            max_overflow=0,
            hide_parameters=True,  # what people wrote to each other has no place in an error text
        )
        event.listen(self._engine.sync_engine, "checkout", _refuse_closed)
        self._reading = self._engine.execution_options(isolation_level="REPEATABLE READ")

    async def hot(self, work: Callable[[Connection], Coroutine[Any, Any, Result]]) -> Result:
        """Hand-written statements straight on the driver."""
        try:
            return await self._overdue.limit(self._run_hot(work), _HOT_SECONDS)
        except AWAY as error:
            raise StoreUnavailable(type(error).__name__) from error

    async def _run_hot(self, work: Callable[[Connection], Coroutine[Any, Any, Result]]) -> Result:
        connection = await self._hot.borrow()
        try:
            return await work(connection)
        except (asyncio.CancelledError, *_UNREACHABLE):
            connection.terminate()  # giving it back in good order would need an answer, and another server may give it
            raise
        finally:
            self._hot.give_back(connection)

    async def connect(self) -> Connection:
        """A connection of one's own, for listening."""
        try:
            return await asyncpg.connect(self._listen_url, timeout=_PATIENCE_SECONDS)
        except _UNREACHABLE as error:
            raise StoreUnavailable(type(error).__name__) from error

    async def read(self, work: Callable[[SqlConnection], Result]) -> Result:
        """However many statements it takes, they see one moment: what moves meanwhile is never seen twice or missed."""

        async def run() -> Result:
            async with asyncio.timeout(_PATIENCE_SECONDS), self._reading.connect() as connection:
                return await connection.run_sync(work)

        return await _translating(run())

    async def write(self, work: Callable[[SqlConnection], Result]) -> Result:
        async def run() -> Result:
            async with asyncio.timeout(_PATIENCE_SECONDS), self._engine.begin() as connection:
                return await connection.run_sync(work)

        return await _translating(run())

    async def migrate(self, show: migrate.Shown | None = None) -> tuple[str | None, str | None]:
        async def run() -> tuple[str | None, str | None]:
            async with self._engine.connect() as connection:
                before_and_after = await connection.run_sync(migrate.upgrade, show)
                await connection.commit()
                return before_and_after

        return await _translating(run())

    async def close(self) -> None:
        await self._hot.close(_CLOSE_SECONDS)
        await self._engine.dispose()

    async def _connect_hot(self) -> Connection:
        if not self._prepared:  # what is set behind a pooler is set for others, and plans are not kept there
            return await asyncpg.connect(self._url, timeout=_HOT_SECONDS, statement_cache_size=0)
        return await planning_by_index(
            await asyncpg.connect(self._url, timeout=_HOT_SECONDS, statement_cache_size=_CACHED_STATEMENTS)
        )


def _refuse_closed(connection: Any, _record: object, _proxy: object) -> None:
    """The pool makes another. The driver has seen the end of it by itself: asking the server would be three calls."""
    if connection.driver_connection.is_closed():
        raise DisconnectionError


async def planning_by_index(connection: Connection) -> Connection:
    try:
        await connection.execute(_BY_INDEX, timeout=_HOT_SECONDS)
    except BaseException:
        connection.terminate()
        raise
    return connection


async def _translating(running: Awaitable[Result]) -> Result:
    try:
        return await running
    except AWAY as error:
        raise StoreUnavailable(type(error).__name__) from error
    except DBAPIError as error:
        if error.connection_invalidated or isinstance(getattr(error.orig, "__cause__", None), AWAY):
            raise StoreUnavailable(type(error.orig).__name__) from error
        raise


def _sqlalchemy_url(url: str) -> str:
    return urlsplit(url)._replace(scheme="postgresql+asyncpg").geturl()


# Hear what other processes did: LISTEN, reconnecting for as long as it takes.

_PROBE_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 1.0
_AT_ONCE: Final = 0

OnPending = Callable[[], None]
OnSettled = Callable[[list[DeliveryId] | None], Awaitable[None]]


@asynccontextmanager
async def listening(
    database: PostgresDatabase,
    questions: QuestionNotices,
    pending: OnPending,
    settled: OnSettled,
    loops: Loops,
    *,
    attention: Signal | None = None,
) -> AsyncIterator[None]:
    """
    `settled(None)` means: some notices may have been missed, look at everything you wait for.

    `attention` rings when another process set a policy or decided what is to be handed over.
    """
    listener = _Listener(database, questions, pending, settled, attention or Signal())
    try:
        async with loops.running("notices", listener.look, cut_off=True):
            yield
    finally:
        listener.hang_up()


@asynccontextmanager
async def polling(pending: OnPending, settled: OnSettled, loops: Loops) -> AsyncIterator[None]:
    """Where nothing can be heard, looks every second: later than a notice, and more work for the database."""

    async def look() -> int:
        pending()
        await settled(None)
        return loops.clock.now_us() + seconds(_POLL_SECONDS)

    async with loops.running("notices", look, cut_off=True):
        yield


@dataclass(slots=True)
class _Listener:
    """Holds one connection for as long as nothing fails, and a new one afterwards."""

    database: PostgresDatabase
    questions: QuestionNotices
    pending: OnPending
    settled: OnSettled
    attention: Signal
    _connection: Connection | None = None
    _heard: asyncio.Queue[list[DeliveryId] | None] = field(default_factory=asyncio.Queue)

    async def look(self) -> int:
        """Connects, or waits until something is heard or a quiet connection has proved that it is one."""
        try:
            if self._connection is None:
                await self._connect()
            else:
                await self._hear(self._connection)
        except AWAY as error:
            self.hang_up()
            raise StoreUnavailable(type(error).__name__) from error
        except BaseException:
            self.hang_up()
            raise
        return _AT_ONCE

    def hang_up(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self.questions.lost()
        self._connection = None

    async def _connect(self) -> None:
        """What was missed meanwhile is looked up."""
        connection = self._connection = await self.database.connect()
        heard = self._heard = asyncio.Queue()

        def on_settled(_connection: object, _process: int, _channel: str, payload: object) -> None:
            heard.put_nowait([DeliveryId(one) for one in str(payload).split()])

        connection.add_termination_listener(lambda _: heard.put_nowait(None))
        await connection.add_listener(PENDING_CHANNEL, lambda *_: self.pending())
        await connection.add_listener(SETTLED_CHANNEL, on_settled)
        await connection.add_listener(QUESTIONS_CHANNEL, lambda *notice: self.questions.heard(str(notice[-1])))
        await connection.add_listener(ATTENTION_CHANNEL, lambda *notice: self._hear_of_attention(str(notice[-1])))
        self.attention.ring()
        self.questions.connected()
        self.pending()
        await self.settled(None)

    def _hear_of_attention(self, process: str) -> None:
        """Our own commits rang when they were made."""
        if process != THIS_PROCESS:
            self.attention.ring()

    async def _hear(self, connection: Connection) -> None:
        """A network can fall silent without a word, so a quiet connection is asked now and then."""
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                ids = await self._heard.get()
        except TimeoutError:
            await connection.fetchval("SELECT 1", timeout=_PROBE_SECONDS)
            return
        if ids is None:  # the connection is gone
            self.hang_up()
        else:
            await self.settled(ids)
