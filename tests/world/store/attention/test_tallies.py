"""How many notices there are is known without reading them, and is what reading them comes to, on either database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from benchmarks.growth_fill import lengthen
from sqlalchemy import text
from tests.clock import FakeClock
from tests.opened_database import KINDS, opened_database
from tests.work.attention.sample import HOUR, PERSON, accepted
from tests.world.store.attention.test_attention import MIDNIGHT, book_on, take_in
from tests.world.store.migrations.planned import planned

from postroom.domain.notice_states import NoticeState
from postroom.domain.retention import DAY_US, retention
from postroom.work.attention.facts import ReceiptIn, SendOutcome
from postroom.work.attention.notice_book import NoticeBook
from postroom.work.attention.reading import NoticeReading
from postroom.world.store.attention import tallies
from postroom.world.store.attention.attention import StoredNotices
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.postgres import PostgresDatabase
from postroom.world.store.retention.records import STALE

pytestmark = pytest.mark.requirement("attention:accounted")
MORNING = MIDNIGHT + 8 * HOUR


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as database:
        yield database


async def arrived(book: NoticeBook, store: StoredNotices) -> None:
    """Everything that was to be handed over."""
    now = book.clock.now_us()
    for send in await store.take_sends(now, lease_until_us=0, limit=9):
        receipt = ReceiptIn(at_us=now, send=send.key, outcome=SendOutcome.OK)
        await book.change(PERSON, lambda _, receipt=receipt: [receipt])


async def test_the_tally_is_what_reading_every_row_comes_to_at_every_step_of_a_life(database: Database) -> None:
    clock = FakeClock(MORNING)
    book, store = book_on(database, clock), StoredNotices(database)
    seen: list[dict[str, int]] = []

    async def look() -> None:
        rows, tallied = await store.counts_twice()
        assert rows == tallied == await store.counts(PERSON)
        seen.append(rows.states)

    await take_in(book, accepted("a", clock.now_us()), accepted("b", clock.now_us(), agent="gardener"))
    await look()
    await arrived(book, store)
    await look()
    await clock.advance(3 * 86_400)
    await take_in(book, accepted("c", clock.now_us()))
    keep = retention(clock.now_us(), 2 * DAY_US)
    for stale in STALE:
        await database.write(partial(stale.remove, retention=keep, limit=100))
    await look()

    assert seen[1] == {str(NoticeState.SENT): 2} and sum(seen[2].values()) == 1
    assert (await store.counts("someone else")).states == {}


@pytest.mark.parametrize("change", ["SET many = many + 1 WHERE state <> 'logged'", "SET many = 0"])
async def test_a_tally_that_is_wrong_is_made_again(database: Database, change: str) -> None:
    """A process of the version before this one writes without it, as long as an upgrade is rolling."""
    clock = FakeClock(MORNING)
    book, store = book_on(database, clock), StoredNotices(database)
    await take_in(book, accepted("a", clock.now_us()))
    await arrived(book, store)
    reading = NoticeReading(book=book)
    assert await reading.first_law() == []

    table = "shared.notice_tallies" if isinstance(database, PostgresDatabase) else "notice_tallies"
    await database.write(lambda connection: connection.execute(text(f"UPDATE {table} {change}")))
    rows, tallied = await store.counts_twice()
    assert rows != tallied

    assert await reading.first_law() == []
    rows, tallied = await store.counts_twice()
    assert rows == tallied


async def test_what_is_shown_of_a_person_comes_from_a_tally_that_adds_up(database: Database) -> None:
    clock = FakeClock(MORNING)
    book, store = book_on(database, clock), StoredNotices(database)
    await take_in(book, accepted("a", clock.now_us()))
    await arrived(book, store)
    table = "shared.notice_tallies" if isinstance(database, PostgresDatabase) else "notice_tallies"
    await database.write(lambda connection: connection.execute(text(f"DELETE FROM {table} WHERE state = 'logged'")))

    figures = await NoticeReading(book=book).figures(PERSON)

    assert (figures.accepted, figures.unaccounted) == (1, ())


async def test_what_is_over_is_not_read_to_be_counted(database: Database) -> None:
    await lengthen(database, 8_000, MORNING // 1000)

    def work(connection: Any) -> None:
        tallies.counted(connection, "p1")

    plan = await database.write(partial(planned, work=work))

    assert "ix_notices_open" in plan and "ix_notices_person" not in plan, plan
