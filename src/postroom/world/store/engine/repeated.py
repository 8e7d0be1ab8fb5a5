"""Reads that loops make again and again: as long as nothing was committed, the last answer stands."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from sqlalchemy import Connection

from postroom.world.store.engine.database import Database
from postroom.world.store.engine.sqlite import SqliteDatabase

Result = TypeVar("Result")


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
