"""The SQLite writer: one commit for many, errors for those they belong to, and no silence."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from tests.patience import PATIENCE_SECONDS

from postroom.kernel.database import sqlite
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.kernel.values.errors import StoreUnavailable

_BODY = "the body of a letter"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    database = SqliteDatabase(tmp_path / "postroom.db")
    await database.write(lambda connection: run(connection, "CREATE TABLE words (word TEXT PRIMARY KEY)"))
    yield database
    await database.close()


def run(connection: Connection, statement: str, **values: object) -> int:
    return connection.execute(text(statement), values).rowcount


def add(word: str):  # type: ignore[no-untyped-def]
    return lambda connection: run(connection, "INSERT INTO words VALUES (:word)", word=word)


def words(connection: Connection) -> list[str]:
    return list(connection.execute(text("SELECT word FROM words ORDER BY word")).scalars())


async def test_what_is_acknowledged_is_on_disk_for_another_process_too(
    database: SqliteDatabase, tmp_path: Path
) -> None:
    await asyncio.gather(*(database.write(add(f"word-{number:03}")) for number in range(200)))

    with sqlite3.connect(tmp_path / "postroom.db") as other:
        assert other.execute("SELECT count(*) FROM words").fetchone() == (200,)
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_writes_that_wait_together_are_committed_together(database: SqliteDatabase) -> None:
    commits = 0

    def count(*_: object) -> None:
        nonlocal commits
        commits += 1

    sqlite.event.listen(database._engine, "commit", count)

    await asyncio.gather(*(database.write(add(f"word-{number:03}")) for number in range(300)))

    assert commits < 100


async def test_one_bad_write_fails_alone(database: SqliteDatabase) -> None:
    await database.write(add("there"))

    results = await asyncio.gather(*(database.write(add(word)) for word in ("a", "there", "b")), return_exceptions=True)

    assert [type(result) for result in results] == [int, type(results[1]), int]
    assert isinstance(results[1], DBAPIError)
    assert await database.read(words) == ["a", "b", "there"]


async def test_an_error_does_not_repeat_what_was_to_be_written(database: SqliteDatabase) -> None:
    await database.write(add(_BODY))

    with pytest.raises(DBAPIError) as caught:
        await database.write(add(_BODY))

    assert _BODY not in str(caught.value)


async def test_a_file_that_another_process_holds_is_unavailable_to_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_PATIENCE_SECONDS", 0.2)
    database = SqliteDatabase(tmp_path / "held.db")
    await database.write(lambda connection: run(connection, "CREATE TABLE words (word TEXT PRIMARY KEY)"))
    holder = sqlite3.connect(tmp_path / "held.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        async with asyncio.timeout(15):  # not 0.2 s for each of them
            results = await asyncio.gather(
                *(database.write(add(str(number))) for number in range(100)), return_exceptions=True
            )
        assert all(isinstance(result, StoreUnavailable) for result in results)
        holder.execute("COMMIT")
        assert await database.write(add("at last")) == 1
        assert await database.read(words) == ["at last"]
    finally:
        holder.close()
        await database.close()


async def test_a_file_that_cannot_be_opened_is_told_not_hung(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "missing" / "postroom.db")
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            with pytest.raises(StoreUnavailable, match="unable to open"):
                await database.write(add("a"))
            with pytest.raises(StoreUnavailable, match="unable to open"):
                await database.read(words)
            (tmp_path / "missing").mkdir()
            await database.write(lambda connection: run(connection, "CREATE TABLE words (word TEXT PRIMARY KEY)"))
    finally:
        await database.close()


async def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("Dear diary, " * 100)
    database = SqliteDatabase(tmp_path / "notes.db")
    try:
        with pytest.raises(StoreUnavailable):
            await database.write(add("a"))
    finally:
        await database.close()


async def test_after_closing_nothing_hangs(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "postroom.db")
    await database.close()
    await database.close()

    async with asyncio.timeout(PATIENCE_SECONDS):
        with pytest.raises(StoreUnavailable, match="closed"):
            await database.write(add("a"))


async def test_what_was_handed_in_before_closing_is_written(database: SqliteDatabase, tmp_path: Path) -> None:
    writes = [asyncio.create_task(database.write(add(str(number)))) for number in range(50)]
    await asyncio.sleep(0)

    await database.close()

    assert await asyncio.gather(*writes) == [1] * 50
