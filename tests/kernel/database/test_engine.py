"""A read that is repeated is made again after a commit, whoever made it, and only then."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from threading import Event

import pytest
from sqlalchemy import Connection, text
from tests.kernel.database.test_postgres_signals import Ear
from tests.patience import PATIENCE_SECONDS
from tests.questions.sample_questions import new_question
from tests.support.counted import CountedLoops

from postroom.kernel.database.engine import Coalescer, QuestionNotices, Repeated
from postroom.kernel.database.postgres import PostgresDatabase, listening
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.kernel.running.process import Seal
from postroom.kernel.values.errors import StoreUnavailable
from postroom.questions.store import steps
from postroom.questions.store.questions import StoredQuestions


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


async def test_of_a_file_that_cannot_be_opened_no_version_is_told(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "not there" / "postroom.db")
    try:
        assert database.version() is None
    finally:
        await database.close()


async def test_another_process_hears_of_a_question_by_its_id(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, ear, notices = PostgresDatabase(postgres_url), Ear(), QuestionNotices()
    heard: asyncio.Queue[str | None] = asyncio.Queue()
    notices.follow(heard.put_nowait)
    await database.migrate()
    store = StoredQuestions(database, Seal(bytes(32)))
    async with (
        listening(database, notices, ear.on_pending, ear.on_settled, CountedLoops()),
        asyncio.timeout(PATIENCE_SECONDS),
    ):
        assert await heard.get() is None  # some may have been missed before
        assert notices.are_heard
        await store.ask(new_question())

        monkeypatch.setattr(steps, "THIS_PROCESS", "another")
        theirs = await store.ask(new_question(question="And theirs?"))

        assert await heard.get() == theirs.question.id
    assert not notices.are_heard
    await database.close()


class Tens:
    """Answers each number with ten times as much; a negative one fails whoever is flushed with it."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.away = False

    async def flush(self, numbers: Sequence[int]) -> Sequence[int]:
        self.batches.append(list(numbers))
        await self.open.wait()
        if self.away:
            raise StoreUnavailable("away")
        if min(numbers) < 0:
            raise ValueError("negative")
        return [10 * number for number in numbers]


async def test_a_crowd_shares_round_trips_in_the_order_it_came() -> None:
    tens = Tens()
    coalescer = Coalescer(tens.flush, most=3)
    tens.open.clear()
    waiting = [asyncio.create_task(coalescer.submit(number)) for number in range(8)]
    await asyncio.sleep(0)

    tens.open.set()

    assert await asyncio.gather(*waiting) == [10 * number for number in range(8)]
    assert [number for batch in tens.batches for number in batch] == list(range(8))
    assert max(map(len, tens.batches)) == 3
    assert len(tens.batches) <= 4


async def test_when_the_store_is_away_everyone_learns_it_at_once() -> None:
    tens = Tens()
    tens.away = True
    coalescer = Coalescer(tens.flush)

    results = await asyncio.gather(*(coalescer.submit(number) for number in range(5)), return_exceptions=True)

    assert all(isinstance(result, StoreUnavailable) for result in results)
    assert len(tens.batches) == 1


async def test_a_caller_who_leaves_takes_nobody_along() -> None:
    tens = Tens()
    coalescer = Coalescer(tens.flush)
    tens.open.clear()
    leaving, staying = (asyncio.create_task(coalescer.submit(number)) for number in (1, 2))
    await asyncio.sleep(0)
    leaving.cancel()
    tens.open.set()

    assert await staying == 20
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert await coalescer.submit(3) == 30
