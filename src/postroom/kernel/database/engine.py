"""What every store stands on: one way to run a piece of SQLAlchemy Core work, whichever database is behind it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from sqlalchemy import ColumnElement, Connection, Table, false, func, select, text, true
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import IntegrityError

from postroom.kernel.database.sqlite import SqliteDatabase

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


# What PostgreSQL alone can say.

_ROOM = text(
    "SELECT sum(CASE name WHEN 'max_connections' THEN setting::int ELSE -setting::int END) FROM pg_settings "
    "WHERE name IN ('max_connections', 'superuser_reserved_connections')"
)


def connection_room(connection: Connection) -> int:
    """PostgreSQL only."""
    return int(connection.execute(_ROOM).scalar_one())


_NOW = text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")


def server_time_us(connection: Connection) -> int:
    """PostgreSQL only."""
    return int(connection.execute(_NOW).scalar_one())


# Writers that take turns, so that what is counted up is committed in its order.

PATIENCE_SECONDS: Final = 10.0  # a process that was stopped in between would keep everybody else from writing


_LOCK: Final = 0x6F72646572  # keeps this lock apart from any others


_IN_TURN: Final = text(
    "SELECT set_config('idle_in_transaction_session_timeout', :patience, true), pg_advisory_xact_lock(:lock)"
)


def wait_for_turn(connection: Connection, patience_seconds: float = PATIENCE_SECONDS) -> None:
    """
    Positions written from here on are nobody else's, because the next writer waits until this one has committed.

    So a position that can be seen is never followed by a lower one. Ask as late as
    possible: what comes between here and the commit is done by one at a time.
    SQLite lets one transaction write at a time anyway.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_IN_TURN, {"patience": f"{patience_seconds * 1000:.0f}ms", "lock": _LOCK})
