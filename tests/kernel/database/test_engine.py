"""A read that is repeated is made again after a commit, whoever made it, and only then."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from threading import Event

import pytest
from sqlalchemy import Connection, text
from tests.patience import PATIENCE_SECONDS

from postroom.kernel.database.engine import Repeated
from postroom.kernel.database.sqlite import SqliteDatabase


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    database = SqliteDatabase(tmp_path / "postroom.db")
    await database.write(lambda connection: connection.execute(text("CREATE TABLE words (word TEXT)")))
    yield database
    await database.close()


class Words:
    """Counts how often they are read."""

    def __init__(self) -> None:
        self.reads = 0

    def __call__(self, connection: Connection) -> list[str]:
        self.reads += 1
        return list(connection.execute(text("SELECT word FROM words ORDER BY word")).scalars())


async def add(database: SqliteDatabase, word: str) -> None:
    await database.write(lambda connection: connection.execute(text(f"INSERT INTO words VALUES ('{word}')")))


async def test_while_nothing_is_committed_it_is_read_once(database: SqliteDatabase) -> None:
    repeated, words = Repeated(database), Words()

    assert [await repeated.read("all", words) for _ in range(5)] == [[]] * 5
    assert words.reads == 1


async def test_what_this_process_committed_is_in_the_next_answer(database: SqliteDatabase) -> None:
    repeated, words = Repeated(database), Words()
    await repeated.read("all", words)

    for number in range(3):
        await add(database, str(number))
        assert len(await repeated.read("all", words)) == number + 1


async def test_what_another_process_committed_is_in_the_next_answer(database: SqliteDatabase, tmp_path: Path) -> None:
    repeated = Repeated(database)
    await repeated.read("all", Words())

    with sqlite3.connect(tmp_path / "postroom.db") as other:
        other.execute("INSERT INTO words VALUES ('theirs')")

    assert await repeated.read("all", Words()) == ["theirs"]


async def test_what_is_committed_during_a_read_is_in_the_next_answer(database: SqliteDatabase) -> None:
    repeated, reading, go_on = Repeated(database), Event(), Event()

    def slowly(connection: Connection) -> list[str]:
        found = Words()(connection)
        reading.set()
        go_on.wait(PATIENCE_SECONDS)
        return found

    before = asyncio.create_task(repeated.read("all", slowly))
    await asyncio.to_thread(reading.wait, PATIENCE_SECONDS)
    await add(database, "late")
    go_on.set()

    assert await before == []
    assert await repeated.read("all", Words()) == ["late"]


async def test_different_questions_have_different_answers(database: SqliteDatabase) -> None:
    repeated = Repeated(database)

    assert [await repeated.read(number, lambda _, number=number: number) for number in (1, 2, 1)] == [1, 2, 1]  # type: ignore[misc]


async def test_of_a_file_that_cannot_be_opened_no_version_is_told(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "not there" / "postroom.db")
    try:
        assert database.version() is None
    finally:
        await database.close()
