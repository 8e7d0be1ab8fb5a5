"""PostgreSQL: connections of their own for the hot statements and SQLAlchemy for everything else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar
from urllib.parse import urlsplit

import asyncpg
from sqlalchemy import Connection as SqlConnection
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from postroom.domain.errors import StoreUnavailable
from postroom.system.overdue import Overdue
from postroom.world.store.engine import migrate
from postroom.world.store.engine.connections import Connection, DatabaseConnections

Result = TypeVar("Result")
_PATIENCE_SECONDS = 30.0  # a server that answers nothing is as good as away
_HOT_SECONDS = 10.0  # others wait behind a hot statement
_CLOSE_SECONDS = 2.0
_CACHED_STATEMENTS = 100
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

UNREACHABLE = (
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
ROLLED_BACK = (
    asyncpg.TransactionRollbackError,  # a deadlock, or somebody else was first: nothing of it was written
    asyncpg.InvalidCachedStatementError,  # a table was changed since the statement was planned
)
AWAY = (*UNREACHABLE, *ROLLED_BACK)  # for a moment: the same call may be made again


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
            connect_args={} if prepared else _UNNAMED,
            pool_size=(other_pool_size + 1) // 2,
            max_overflow=other_pool_size // 2,
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
        except (asyncio.CancelledError, *UNREACHABLE):
            connection.terminate()  # giving it back in good order would need an answer, and another server may give it
            raise
        finally:
            self._hot.give_back(connection)

    async def connect(self) -> Connection:
        """A connection of one's own, for listening."""
        try:
            return await asyncpg.connect(self._listen_url, timeout=_PATIENCE_SECONDS)
        except UNREACHABLE as error:
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
