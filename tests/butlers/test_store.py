"""What is known of a butler may be a moment old, but never older than what was just changed here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from sqlalchemy import Connection, inspect
from tests.clock import FakeClock
from tests.opened_database import KINDS, opened_database, opened_file
from tests.services.ready_file import ready_file
from tests.support.query_plans import query_plans

from postroom.butlers.model import Registration, Session, SessionEvent, SessionOutcome, SessionStatus
from postroom.butlers.store import StoredSessions, StoredState
from postroom.butlers.store import sessions as table
from postroom.butlers.switchboard import Registry
from postroom.kernel.database.engine import Database
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.kernel.values.errors import ErrorClass
from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import SessionId

Result = TypeVar("Result")


HEALTH = Registration(name="health", endpoint_url="", description="", modules=(), last_seen_at_us=1)


class SlowDatabase(SqliteDatabase):
    """Begins to write when it is let, and tells what it has read when it may."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.let, self.may_tell = asyncio.Event(), asyncio.Event()
        self.let.set()
        self.may_tell.set()
        self.reads = 0
        self.has_read = asyncio.Event()

    async def read(self, work: Callable[[Connection], Result]) -> Result:
        self.reads += 1
        result = await super().read(work)
        self.has_read.set()
        await self.may_tell.wait()
        return result

    async def write(self, work: Callable[[Connection], Result]) -> Result:
        await self.let.wait()
        return await super().write(work)


async def test_whoever_asks_while_a_quarantine_is_written_does_not_undo_it(tmp_path: Path, clock: FakeClock) -> None:
    database = SlowDatabase(ready_file(tmp_path / "postroom.db"))
    try:
        registry = Registry(database, clock)
        await registry.register(HEALTH)

        database.let.clear()
        writing = asyncio.create_task(registry.quarantine("health", "it misbehaved"))
        await asyncio.sleep(0)
        assert await registry.find("health") == HEALTH
        database.let.set()
        assert await writing

        found = await registry.find("health")
        assert found is not None
        assert found.quarantine_reason == "it misbehaved"
    finally:
        await database.close()


async def test_a_crowd_that_finds_it_too_old_looks_once(tmp_path: Path, clock: FakeClock) -> None:
    database = SlowDatabase(ready_file(tmp_path / "postroom.db"))
    try:
        registry = Registry(database, clock)
        await registry.register(HEALTH)

        database.may_tell.clear()
        crowd = [asyncio.create_task(registry.find("health")) for _ in range(20)]
        await database.has_read.wait()
        crowd.pop(0).cancel()  # the one who began to look takes nobody along
        database.may_tell.set()

        assert await asyncio.gather(*crowd) == [HEALTH] * 19
        assert database.reads == 1
    finally:
        await database.close()


async def test_a_look_that_began_before_a_change_does_not_undo_it(tmp_path: Path, clock: FakeClock) -> None:
    database = SlowDatabase(ready_file(tmp_path / "postroom.db"))
    try:
        registry = Registry(database, clock)
        await registry.register(HEALTH)

        database.may_tell.clear()
        before = asyncio.create_task(registry.find("health"))
        await database.has_read.wait()
        await registry.quarantine("health", "it misbehaved")
        database.may_tell.set()
        await before

        found = await registry.find("health")
        assert found is not None
        assert found.quarantine_reason == "it misbehaved"
    finally:
        await database.close()


NOW = 1_767_225_600_000_000
MINT = IdMint()
DONE = SessionOutcome(event=SessionEvent.FINISH, transcript={"text": "ü \x00 done"})


@pytest.fixture
def store(database: Database) -> StoredSessions:
    return StoredSessions(database)


def new(**changes: Any) -> Session:
    given: dict[str, Any] = {
        "id": SessionId(MINT.mint(NOW)),
        "butler": "general",
        "runtime": "codex",
        "trigger_source": "trigger",
        "caller": "operator",
        "prompt": "Do it.",
        "created_at_us": NOW,
    }
    return Session(**(given | changes))


async def added(store: StoredSessions, **changes: Any) -> Session:
    session = await store.add(new(**changes), most_queued=100)
    assert session is not None
    return session


async def claimed(store: StoredSessions, butler: str = "general") -> Session:
    session = await store.claim(butler, now_us=NOW + 1)
    assert session is not None
    return session


async def test_the_table_is_what_the_migration_makes(database: Database) -> None:
    def columns(connection: Any) -> dict[str, bool]:
        schema = "shared" if connection.dialect.name == "postgresql" else None
        return {one["name"]: one["nullable"] for one in inspect(connection).get_columns("sessions", schema=schema)}

    assert await database.read(columns) == {column.name: bool(column.nullable) for column in table.columns}


async def test_a_session_is_kept_as_it_was_asked_for(store: StoredSessions) -> None:
    context = {"request_id": "r1", "source_channel": "telegram", "odd": "\x00\ud800"}

    stored = await added(store, request_context=context, request_id="r1", depth=2)

    assert stored == await store.get("general", stored.id)
    assert (stored.status, stored.attempt, stored.request_context, stored.depth) == (
        SessionStatus.QUEUED,
        0,
        context,
        2,
    )
    assert await store.get("health", stored.id) is None


async def test_the_oldest_of_this_butler_is_claimed_first_and_once(store: StoredSessions) -> None:
    await added(store, butler="health")
    first, second = await added(store), await added(store)

    assert [(await claimed(store)).id, (await claimed(store)).id] == [first.id, second.id]
    assert await store.claim("general", now_us=NOW) is None
    running = await store.get("general", first.id)
    assert running is not None
    assert (running.status, running.attempt, running.started_at_us) == (SessionStatus.RUNNING, 1, NOW + 1)


async def test_a_queue_takes_so_many_of_each_butler_and_running_ones_do_not_count(store: StoredSessions) -> None:
    for _ in range(2):
        assert await store.add(new(), most_queued=2)

    assert await store.add(new(), most_queued=2) is None
    assert await store.add(new(butler="health"), most_queued=2)
    await claimed(store)
    assert await store.add(new(), most_queued=2)


async def test_the_same_key_is_the_same_session_even_in_a_race(store: StoredSessions) -> None:
    answers = await asyncio.gather(*(store.add(new(request_key="route:r1"), most_queued=1) for _ in range(4)))

    assert len({one.id for one in answers if one}) == 1
    assert None not in answers
    assert await store.add(new(request_key="route:r1", butler="health"), most_queued=1)


async def test_an_end_is_recorded_once(store: StoredSessions) -> None:
    await added(store)
    session = await claimed(store)
    failed = SessionOutcome(
        event=SessionEvent.FAIL, transcript={}, error_class=ErrorClass.UNAVAILABLE, error_message="no"
    )

    assert await store.end(session, DONE, now_us=NOW + 5)
    assert not await store.end(session, failed, now_us=NOW + 6)

    ended = await store.get("general", session.id)
    assert ended is not None
    assert (ended.status, ended.finished_at_us, ended.error_class) == (SessionStatus.DONE, NOW + 5, None)
    assert ended.transcript == DONE.transcript


async def test_what_an_earlier_attempt_says_changes_nothing(store: StoredSessions) -> None:
    await added(store)
    first = await claimed(store)
    assert await store.release(first)
    second = await claimed(store)

    assert not await store.end(first, DONE, now_us=NOW)
    assert not await store.release(first)

    assert second.attempt == 2
    assert await store.end(second, DONE, now_us=NOW)


async def test_what_was_running_begins_again_once_and_then_is_lost(store: StoredSessions) -> None:
    await added(store, butler="health")
    waiting = await added(store)
    session = await claimed(store)
    assert session.id == waiting.id
    await claimed(store, "health")

    (recovered,) = await store.recover("general", now_us=NOW)
    assert (recovered.status, recovered.crashes, recovered.started_at_us) == (SessionStatus.QUEUED, 1, None)
    assert await store.recover("general", now_us=NOW) == []

    await claimed(store)
    (lost,) = await store.recover("general", now_us=NOW + 9)
    assert (lost.status, lost.crashes, lost.finished_at_us) == (SessionStatus.LOST, 2, NOW + 9)
    assert lost.error_class == "internal_error"
    assert await store.claim("general", now_us=NOW) is None


async def test_the_newest_come_first_page_by_page(store: StoredSessions) -> None:
    stored = [await added(store) for _ in range(5)]
    await claimed(store)
    ids = [one.id for one in reversed(stored)]

    first = await store.newest("general", status=None, before=None, limit=3)
    rest = await store.newest("general", status=None, before=first[-1].id, limit=3)
    running = await store.newest("general", status=SessionStatus.RUNNING, before=None, limit=3)

    assert [one.id for one in (*first, *rest)] == ids
    assert [one.id for one in running] == [stored[0].id]
    assert await store.counts("general") == {SessionStatus.QUEUED: 4, SessionStatus.RUNNING: 1}


async def test_what_has_ended_is_not_read_to_find_the_next_in_the_queue(tmp_path: Path) -> None:
    async with opened_file(tmp_path) as database:
        store = StoredSessions(database)
        with query_plans(database) as steps:
            await store.claim("health", now_us=NOW)
            await store.recover("health", now_us=NOW)
            await store.add(new(), most_queued=5)

    looked = [step for step in steps if "(butler=?" in step and "request_key" not in step]
    assert len(looked) == 3
    assert all("ix_sessions_open (butler=? AND status=?)" in step for step in looked), looked


@pytest.mark.parametrize("kind", KINDS)
async def test_values_come_back_as_they_were_and_versions_count(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with opened_database(kind, tmp_path, request) as database:
        mine, other = StoredState(database, "health"), StoredState(database, "general")
        value = {"list": [1, None, "ü"], "deep": {"x": True}}

        assert await mine.set("a%b", value, expected_version=None, now_us=1) == 1
        assert await mine.set("a%b", 2, expected_version=0, now_us=2) is None
        assert await mine.set("a%b", 2, expected_version=1, now_us=2) == 2
        assert await mine.set("axb", value, expected_version=0, now_us=3) == 1
        assert await mine.get("axb") == (value, 1)
        assert await other.get("axb") is None
        assert await mine.keys("a%", 10) == ["a%b"]
        assert await mine.keys("A", 10) == []
        assert await mine.delete("a%b") is True
        assert await mine.delete("a%b") is False


@pytest.mark.parametrize("kind", KINDS)
async def test_of_many_who_expect_the_same_version_one_wins(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with opened_database(kind, tmp_path, request) as database:
        state = StoredState(database, "health")
        await state.set("k", 0, expected_version=None, now_us=1)

        tries = [state.set("k", number, expected_version=1, now_us=2) for number in range(20)]
        results = await asyncio.gather(*tries)

        assert sorted(result for result in results if result) == [2]


@pytest.mark.parametrize("kind", KINDS)
async def test_of_many_who_write_a_key_first_one_is_the_first(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with opened_database(kind, tmp_path, request) as database:
        state = StoredState(database, "health")

        careful = await asyncio.gather(*(state.set("c", n, expected_version=0, now_us=1) for n in range(8)))
        careless = await asyncio.gather(*(state.set("k", n, expected_version=None, now_us=1) for n in range(8)))

        assert sorted(version for version in careful if version) == [1]
        assert sorted(version or 0 for version in careless) == [1, 2, 3, 4, 5, 6, 7, 8]
