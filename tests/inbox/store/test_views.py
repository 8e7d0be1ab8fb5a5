"""The shelves of an inbox on SQLite and PostgreSQL alike."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clock import START_US
from tests.opened_database import KINDS, opened_database, opened_file
from tests.support.query_plans import query_plans
from tests.work.inbox.examples import MINT, a_notification

from postroom.inbox.model import Cursor, Drop, Notification, Shelf
from postroom.inbox.page import shelf_of
from postroom.inbox.store import notes as views
from postroom.inbox.store.notes import StoredNotes, StoredShelves
from postroom.kernel.database.engine import Database

NOW = START_US
PLACES: dict[str, tuple[dict[str, Any], Shelf]] = {
    "new": ({}, Shelf.UNREAD),
    "seen": ({"seen_at_us": 5}, Shelf.UNREAD),
    "read": ({"read_at_us": 5}, Shelf.READ),
    "by e-mail alone": ({"has_bell": False}, Shelf.READ),
    "asleep": ({"snoozed_until_us": NOW + 1}, Shelf.SNOOZED),
    "awake again": ({"snoozed_until_us": NOW}, Shelf.UNREAD),
    "put away": ({"archived_at_us": 5, "read_at_us": 5}, Shelf.ARCHIVED),
    "put away asleep": ({"archived_at_us": 5, "snoozed_until_us": NOW + 1}, Shelf.ARCHIVED),
    "dismissed": ({"dismissed_at_us": 5, "read_at_us": 5, "archived_at_us": 5}, Shelf.DISMISSED),
}


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as database:
        yield database


async def keep(database: Database, *new: Notification) -> None:
    """The bell of a new one follows what its person wants, so it is set afterwards."""
    notes = StoredNotes(database, MINT.mint)
    for one in new:
        assert await notes.create(one, hourly_cap=1000, judge=lambda _note, _wishes: Drop("not asked for"))
        await notes.change(one.user_id, one.id, lambda _stored, one=one: one)  # type: ignore[misc]


async def test_every_notification_lies_on_exactly_one_shelf(database: Database) -> None:
    notes = {name: a_notification(**fields) for name, (fields, _) in PLACES.items()}
    await keep(database, *notes.values(), a_notification("eve"))
    shelves = StoredShelves(database)

    found = {
        shelf: {one.id for one in await shelves.page("ada", shelf, after=None, limit=50, now_us=NOW)} for shelf in Shelf
    }

    for shelf in Shelf:
        assert found[shelf] == {notes[name].id for name, (_, wanted) in PLACES.items() if wanted is shelf}
    assert await shelves.counts("ada", NOW) == {shelf: len(ids) for shelf, ids in found.items()}
    assert all(shelf_of(notes[name], NOW) is wanted for name, (_, wanted) in PLACES.items())


async def test_a_shelf_is_counted_up_to_a_bound(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "MOST_SHELVED", 2)
    await keep(database, *(a_notification(archived_at_us=5) for _ in range(4)), a_notification())

    counts = await StoredShelves(database).counts("ada", NOW)

    assert (counts[Shelf.ARCHIVED], counts[Shelf.UNREAD]) == (3, 1)  # one above the bound stands for more than that


async def test_each_person_with_an_inbox_is_named_once_in_order(database: Database) -> None:
    assert await StoredShelves(database).people() == []
    await keep(database, *(a_notification(name) for name in ("eve", "ada", "eve", "bob", "ada")))

    assert await StoredShelves(database).people() == ["ada", "bob", "eve"]


async def test_an_empty_inbox_counts_nothing(database: Database) -> None:
    assert await StoredShelves(database).counts("ada", NOW) == dict.fromkeys(Shelf, 0)


async def test_a_page_begins_where_the_one_before_ended(database: Database) -> None:
    notes = [a_notification(at_us=NOW - age // 2) for age in range(6)]
    await keep(database, *notes)
    shelves, after, seen = StoredShelves(database), None, list[str]()

    for _ in range(4):
        page = await shelves.page("ada", Shelf.UNREAD, after=after, limit=2, now_us=NOW)
        seen += [one.id for one in page]
        after = Cursor(page[-1].created_at_us, page[-1].id) if page else after

    assert seen == [one.id for one in sorted(notes, key=lambda one: (one.created_at_us, one.id), reverse=True)]


async def test_one_is_found_by_its_owner_and_by_nobody_else(database: Database) -> None:
    note = a_notification(dismissed_at_us=5)
    await keep(database, note, a_notification("eve"))
    shelves = StoredShelves(database)

    assert await shelves.find("ada", note.id) == note
    assert await shelves.find("eve", note.id) is None
    assert await shelves.people() == ["ada", "eve"]


@given(
    st.fixed_dictionaries(
        {
            name: st.none() | st.integers(0, 3)
            for name in ("read_at_us", "archived_at_us", "dismissed_at_us", "snoozed_until_us")
        }
    ),
    st.booleans(),
)
def test_a_dismissed_one_is_nowhere_else(fields: dict[str, Any], has_bell: bool) -> None:
    shelf = shelf_of(a_notification(has_bell=has_bell, **fields), 1)

    assert (shelf is Shelf.DISMISSED) == (fields["dismissed_at_us"] is not None)


async def test_what_sleeps_is_counted_along_its_index(tmp_path: Path) -> None:
    async with opened_file(tmp_path) as database:
        with query_plans(database) as steps:
            await StoredShelves(database).counts("ann", NOW)

    assert any("ix_notifications_snoozed" in step for step in steps)
