"""SQLite: one writer thread that commits together what is waiting together."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

from postroom.kernel.database import schema as migrate
from postroom.kernel.database.schema import SCHEMAS
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import StoreUnavailable

Result = TypeVar("Result")
_JOBS_AT_ONCE = 500
_PATIENCE_SECONDS = 10.0
_REFUSED_SECONDS = 60.0
_TO_WRITE = "BEGIN IMMEDIATE"
_TEXT = partial(str, encoding="utf-8", errors="surrogateescape")  # one broken text would fail all rows beside it


@dataclass(slots=True)
class _Job:
    work: Callable[[Connection], Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = field(default=None)


class SqliteDatabase:
    """
    Every write goes through one thread.

    It takes whatever is waiting, runs it in one transaction and answers all of it
    after the commit, so a lone caller pays one fsync and a crowd shares one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._engine = _engine(path)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = False
        self._refused_at: float | None = None
        self.refused = Signal()
        self._watch: sqlite3.Connection | None = None
        self._readers: list[Connection] = []  # free ones, each for one thread at a time
        self._writer = threading.Thread(target=self._write_forever, name="sqlite-writer", daemon=True)
        self._writer.start()

    async def read(self, work: Callable[[Connection], Result]) -> Result:
        def run() -> Result:
            connection = self._readers.pop() if self._readers else self._open()
            try:
                return _seeing_one_moment(connection, work)
            finally:
                self._readers.append(connection)

        try:
            return await asyncio.to_thread(run)
        except (sqlite3.Error, DBAPIError) as error:
            raise _translated(error) from error

    async def write(self, work: Callable[[Connection], Result]) -> Result:
        if self._closed:
            raise StoreUnavailable("closed")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        self._jobs.put(_Job(work, loop, future))
        try:
            result = await future
        except StoreUnavailable:
            self._refused_at = loop.time()
            self.refused.ring()
            raise
        self._refused_at = None
        return result

    async def look(self) -> None:
        """Raises StoreUnavailable for a while after it took nothing, unless it has taken something since."""
        if self._refused_at is not None and asyncio.get_running_loop().time() < self._refused_at + _REFUSED_SECONDS:
            raise StoreUnavailable("takes nothing")

    def version(self) -> int | None:
        """Another one after every commit, of whichever process; None when it cannot be told at once."""
        try:
            if self._watch is None:
                self._watch = sqlite3.connect(self._path, isolation_level=None, timeout=0, check_same_thread=False)
            version: int = self._watch.execute("PRAGMA data_version").fetchone()[0]
        except sqlite3.Error:  # the file is locked or away: a read waits, or says so
            return None
        return version

    async def migrate(self, show: migrate.Shown | None = None) -> tuple[str | None, str | None]:
        def run() -> tuple[str | None, str | None]:
            with self._engine.connect() as connection:
                before_and_after = migrate.upgrade(connection, show)
                connection.commit()
                return before_and_after

        return await asyncio.to_thread(run)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
            await asyncio.to_thread(self._writer.join)
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        while self._readers:
            self._readers.pop().close()
        self._engine.dispose()

    def _write_forever(self) -> None:
        connection: Connection | None = None
        while batch := self._take():
            try:
                connection = connection or self._open()
                _commit_together(connection, batch)
            except Exception as error:  # the file cannot be opened: nobody's fault, and perhaps not for ever
                _fail(batch, error)
            _answer(batch)
        if connection is not None:
            connection.close()

    def _open(self) -> Connection:
        """In a transaction without end as the library sees it, so that those on the file are begun and ended by us."""
        connection = self._engine.connect().execution_options(postroom_begin=None)
        connection.begin()
        return connection

    def _take(self) -> list[_Job]:
        """All that is waiting, at least one; empty means stop."""
        batch: list[_Job] = []
        job = self._jobs.get()
        while job is not None:
            batch.append(job)
            if len(batch) >= _JOBS_AT_ONCE:
                return batch
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return batch
        if batch:
            self._jobs.put(None)
        return batch


def _driver(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)  # noqa: S101  # narrows the type; the engine is ours
    return driver


def _seeing_one_moment(connection: Connection, work: Callable[[Connection], Result]) -> Result:
    driver = _driver(connection)
    driver.execute("BEGIN")
    try:
        return work(connection)
    finally:
        driver.rollback()


def _commit_together(connection: Connection, batch: Sequence[_Job]) -> None:
    """On the driver: what the library does to begin and to commit takes longer than most of what is written."""
    driver = _driver(connection)
    driver.execute(_TO_WRITE)  # fails for all alike: somebody else holds the file
    try:
        for job in batch:
            job.result = job.work(connection)
        driver.execute("COMMIT")
    except Exception as error:  # any of them spoils the batch, so each gets a transaction of its own
        driver.rollback()
        if len(batch) == 1:
            _fail(batch, error)
            return
        for job in batch:
            _commit_together(connection, [job])


def _fail(batch: Sequence[_Job], error: Exception) -> None:
    for job in batch:
        job.error = error


def _answer(batch: Sequence[_Job]) -> None:
    def resolve(jobs: Sequence[_Job]) -> None:
        for job in jobs:
            if job.future.done():
                continue
            if job.error is not None:
                job.future.set_exception(_translated(job.error))
            else:
                job.future.set_result(job.result)

    loops = {job.loop for job in batch}
    for loop in loops:
        mine = [job for job in batch if job.loop is loop]
        with suppress(RuntimeError):  # a loop that is closed has nobody left to tell
            loop.call_soon_threadsafe(resolve, mine)


def _translated(error: BaseException) -> BaseException:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    if isinstance(cause, sqlite3.OperationalError) or type(cause) is sqlite3.DatabaseError:
        return StoreUnavailable(str(cause))
    return error


def _engine(path: Path) -> Engine:
    engine = create_engine(
        f"sqlite:///{path}",
        connect_args={"isolation_level": None, "check_same_thread": False, "timeout": _PATIENCE_SECONDS},
        hide_parameters=True,  # what people wrote to each other has no place in an error text
    ).execution_options(schema_translate_map=dict.fromkeys(SCHEMAS))

    @event.listens_for(engine, "connect")
    def _prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.text_factory = _TEXT
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA cache_size = -16000")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        if begin := connection.get_execution_options().get("postroom_begin", _TO_WRITE):
            connection.exec_driver_sql(begin)

    return engine
