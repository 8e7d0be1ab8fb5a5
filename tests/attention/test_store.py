"""Notices on disk: one suite for SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from tests.attention.attended import names, take_in
from tests.attention.sample import HOUR, PERSON, accepted, at
from tests.clock import FakeClock

from postroom.attention.model import NoticeState
from postroom.attention.reading import NoticeReading
from postroom.attention.rules.policy import parse_policy
from postroom.attention.state import ReceiptIn, SendOutcome
from postroom.attention.store import MOMENTS, StoredNotices
from postroom.attention.turn import NoticeBook
from postroom.delivery.files.taking import DAY_US, retention
from postroom.kernel.database.engine import Database
from postroom.kernel.database.moments import StoredMoments
from postroom.kernel.database.postgres import PostgresDatabase
from postroom.kernel.values.errors import PostroomError
from postroom.overview.pruning import STALE

Refused = (DBAPIError, PostroomError)
NIGHT = {"zone": "UTC", "quiet_hours": [{"from": "22:00", "until": "07:00"}]}
MIDNIGHT = at("2026-01-05T00:00")


def book_on(database: Database, clock: FakeClock) -> NoticeBook:
    return NoticeBook(store=StoredNotices(database), people=names(database), clock=clock, household=parse_policy(NIGHT))


@pytest.mark.requirement("attention:log-is-rows")
async def test_the_database_refuses_a_move_that_is_not_in_the_table_and_a_change_of_the_log(database: Database) -> None:
    book = book_on(database, FakeClock(MIDNIGHT))
    await take_in(book, accepted("a", MIDNIGHT))
    for statement in ("UPDATE {}notices SET state = 'sent'", "UPDATE {}attention_log SET at = 0"):
        sql = text(statement.format("shared." if isinstance(database, PostgresDatabase) else ""))
        with pytest.raises(Refused):
            await database.write(lambda connection, sql=sql: connection.execute(sql))
    assert [one.standing.state for one in await book.store.page(PERSON, None, 10, None)] == [NoticeState.HELD]


@pytest.mark.requirement("attention:log-is-rows")
async def test_what_is_read_is_what_was_written_and_the_log_folds_to_it(database: Database) -> None:
    clock = FakeClock(MIDNIGHT)
    book = book_on(database, clock)
    turn = await take_in(book, accepted("a", MIDNIGHT), accepted("b", MIDNIGHT, agent="gardener"))
    reading = NoticeReading(book=book)
    state, _ = await reading.present(PERSON)
    assert state == turn.state
    assert await reading.audit_of(PERSON) == []
    assert await StoredMoments(database).first([MOMENTS]) == at("07:00")

    await clock.advance(7 * 3600)
    turn = await book.change(PERSON, lambda _: ())
    assert await reading.audit_of(PERSON) == []
    state, _ = await reading.present(PERSON)
    assert state == turn.state
    (digest,) = state.digests.values()
    assert set(digest.members) == {"a", "b"}


async def test_a_send_that_was_handed_over_is_found_by_its_delivery(database: Database) -> None:
    clock = FakeClock(MIDNIGHT + 8 * HOUR)
    book, store = book_on(database, clock), StoredNotices(database)
    await take_in(book, accepted("a", clock.now_us()))
    (send,) = await store.take_sends(clock.now_us(), lease_until_us=clock.now_us() + 1, limit=10)
    assert await store.handed_over(send.key, send.fence, "a delivery")
    found = await store.send_of_delivery("a delivery")
    assert found is not None
    assert (found.key, found.lease_until_us, found.send) == (send.key, None, send.send)


@pytest.mark.requirement("attention:one-decider")
async def test_two_workers_decide_once(postgres_url: str) -> None:
    clock = FakeClock(MIDNIGHT)
    databases = [PostgresDatabase(postgres_url) for _ in range(2)]
    try:
        books = [book_on(one, clock) for one in databases]
        await asyncio.gather(*(take_in(books[n % 2], accepted(f"n{n}", MIDNIGHT, agent=f"a{n}")) for n in range(20)))
        await clock.advance(7 * 3600)
        turns = await asyncio.gather(*(books[n % 2].change(PERSON, lambda _: ()) for n in range(8)))
        assert sorted(bool(turn.decisions) for turn in turns) == [False] * 7 + [True]
        assert len(await books[0].store.log(PERSON)) == 20 * 2 + 20
        assert await NoticeReading(book=books[1]).audit_of(PERSON) == []
    finally:
        for one in databases:
            await one.close()


@pytest.mark.requirement("attention:accounted")
async def test_what_is_left_after_pruning_is_accounted_for(database: Database) -> None:
    clock = FakeClock(MIDNIGHT + 8 * HOUR)
    book, store = book_on(database, clock), StoredNotices(database)
    await take_in(book, accepted("old", clock.now_us()))
    for send in await store.take_sends(clock.now_us(), lease_until_us=0, limit=9):
        receipt = ReceiptIn(at_us=clock.now_us(), send=send.key, outcome=SendOutcome.OK)
        await book.change(PERSON, lambda _, receipt=receipt: [receipt])
    await clock.advance(3 * 86_400)
    await take_in(book, accepted("young", clock.now_us()))
    keep = retention(clock.now_us(), 2 * DAY_US)
    for stale in STALE:
        await database.write(partial(stale.remove, retention=keep, limit=100))

    reading = NoticeReading(book=book)
    assert [one.id for one in await store.page(PERSON, None, 10, None)] == ["young"]
    assert await reading.audit_of(PERSON) == []
    assert ((await reading.figures(PERSON)).accepted, (await reading.figures(PERSON)).unaccounted) == (1, ())
