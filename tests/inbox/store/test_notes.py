"""Notifications on SQLite and PostgreSQL alike."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clock import START_US
from tests.inbox.examples import BY_EMAIL, a_notification
from tests.opened_database import opened_file
from tests.support.query_plans import query_plans

from postroom.inbox.model import (
    SHELVES,
    Cursor,
    DeliveryChannel,
    Notification,
    NotificationChange,
    NotificationQuery,
    NotificationType,
    Shelf,
)
from postroom.inbox.page import shelf_of
from postroom.inbox.rules import apply
from postroom.inbox.store import notes as views
from postroom.inbox.store.mail import StoredPreferences
from postroom.inbox.store.notes import StoredNotes
from postroom.kernel.database.engine import Database

NOW = START_US
SECOND = 1_000_000
HOUR = 3600 * SECOND


@pytest.fixture
def notes(database: Database) -> StoredNotes:
    return StoredNotes(database)


async def keep(notes: StoredNotes, *new: Notification) -> None:
    for one in new:
        assert await notes.create(one, hourly_cap=10_000) is not None


async def ids(notes: StoredNotes, page: NotificationQuery, now_us: int = NOW, user_id: str = "ada") -> list[str]:
    return [one.id for one in await notes.page(user_id, page, now_us)]


class TestCreate:
    @pytest.mark.requirement("inbox:side-effect-row")
    async def test_what_was_created_is_read_back_as_it_was(self, notes: StoredNotes) -> None:
        note = a_notification(
            message="Grüße 🎂\n’; DROP TABLE notifications; --",
            conversation_id="c1",
            correlation_id="k1",
            link="https://example.com",
        )
        await keep(notes, note)

        assert await notes.page("ada", NotificationQuery(), NOW) == [note]

    @pytest.mark.requirement("inbox:validation-rate-limit", "inbox:response-rate-limited")
    async def test_forty_at_once_under_a_cap_of_ten_are_ten(self, notes: StoredNotes) -> None:
        new = [a_notification() for _ in range(40)]
        stored = await asyncio.gather(*(notes.create(one, hourly_cap=10) for one in new))

        assert sum(one is not None for one in stored) == 10
        assert len(await notes.page("ada", NotificationQuery(limit=100), NOW)) == 10

    async def test_the_hour_slides(self, notes: StoredNotes) -> None:
        for minute in (0, 30, 59):
            at = a_notification(at_us=NOW + minute * 60 * SECOND)
            assert await notes.create(at, hourly_cap=3) is not None

        assert await notes.create(a_notification(at_us=NOW + HOUR - 1), hourly_cap=3) is None
        assert await notes.create(a_notification(at_us=NOW + HOUR), hourly_cap=3) is not None
        assert await notes.create(a_notification(at_us=NOW + HOUR), hourly_cap=3) is None

    async def test_everybody_has_a_cap_of_their_own(self, notes: StoredNotes) -> None:
        assert await notes.create(a_notification("ada"), hourly_cap=1) is not None
        assert await notes.create(a_notification("bob"), hourly_cap=1) is not None

    async def test_dismissing_does_not_make_room(self, notes: StoredNotes) -> None:
        note = a_notification()
        await keep(notes, note)
        await notes.change("ada", note.id, partial(apply, change=NotificationChange.DISMISS, now_us=NOW))

        assert await notes.create(a_notification(), hourly_cap=1) is None

    async def test_for_people_who_want_e_mail_alone_no_bell_rings(self, database: Database, notes: StoredNotes) -> None:
        alone = replace(BY_EMAIL, delivery_channel=DeliveryChannel.EMAIL)
        await StoredPreferences(database).change("ada", lambda _: alone, NOW)
        await keep(notes, a_notification())

        assert await notes.unread("ada", NOW) == 0
        assert await notes.since("ada", 0, 10) == []
        assert len(await notes.page("ada", NotificationQuery(), NOW)) == 1


class TestReading:
    async def test_pages_go_on_where_the_last_one_stopped_whatever_arrives_meanwhile(self, notes: StoredNotes) -> None:
        old = [a_notification(at_us=NOW + number // 3) for number in range(10)]  # several at the same moment
        await keep(notes, *old)
        seen: list[str] = []
        after: Cursor | None = None
        while found := await notes.page("ada", NotificationQuery(limit=3, after=after), NOW):
            seen += [one.id for one in found]
            after = Cursor(found[-1].created_at_us, found[-1].id)
            await keep(notes, a_notification(at_us=NOW + 1000))

        assert seen == [one.id for one in sorted(old, key=lambda one: (one.created_at_us, one.id), reverse=True)]

    async def test_filters_and_views(self, notes: StoredNotes) -> None:
        plain = a_notification(conversation_id="c1")
        warning = a_notification(type=NotificationType.WARNING)
        read = a_notification(read_at_us=NOW)
        snoozed = a_notification(snoozed_until_us=NOW + 5)
        archived = a_notification(archived_at_us=NOW, read_at_us=NOW)
        dismissed = a_notification(dismissed_at_us=NOW, read_at_us=NOW)
        await keep(notes, plain, warning, read, snoozed, archived, dismissed)

        assert set(await ids(notes, NotificationQuery())) == {plain.id, warning.id, read.id}
        assert await ids(notes, NotificationQuery(type=NotificationType.WARNING)) == [warning.id]
        assert await ids(notes, NotificationQuery(is_read=True)) == [read.id]
        assert set(await ids(notes, NotificationQuery(is_read=False))) == {plain.id, warning.id}
        assert await ids(notes, NotificationQuery(conversation_id="c1")) == [plain.id]
        assert await ids(notes, NotificationQuery(shelf=Shelf.SNOOZED)) == [snoozed.id]
        assert await ids(notes, NotificationQuery(shelf=Shelf.SNOOZED), NOW + 5) == []
        assert snoozed.id in await ids(notes, NotificationQuery(), NOW + 5)
        assert await ids(notes, NotificationQuery(shelf=Shelf.ARCHIVED)) == [archived.id]
        assert len(await ids(notes, NotificationQuery(shelf=Shelf.ALL))) == 5
        assert await notes.unread("ada", NOW) == 2

    async def test_nobody_reads_or_changes_what_belongs_to_somebody_else(self, notes: StoredNotes) -> None:
        note = a_notification("ada")
        await keep(notes, note)

        assert await ids(notes, NotificationQuery(shelf=Shelf.ALL), user_id="bob") == []
        assert await notes.unread("bob", NOW) == 0
        assert await notes.change("bob", note.id, partial(apply, change=NotificationChange.DISMISS, now_us=NOW)) is None
        assert await notes.read_all("bob", NOW) == 0
        assert await notes.see_all("bob", NOW) == 0
        assert await notes.pulses({"bob"}, 0, NOW) == {}
        assert await notes.page("ada", NotificationQuery(), NOW) == [note]


class TestChanging:
    async def test_a_change_is_kept(self, notes: StoredNotes) -> None:
        note = a_notification()
        await keep(notes, note)
        changed = await notes.change("ada", note.id, partial(apply, change=NotificationChange.READ, now_us=NOW + 7))

        assert changed == replace(note, seen_at_us=NOW + 7, read_at_us=NOW + 7, updated_at_us=NOW + 7)
        assert await notes.page("ada", NotificationQuery(), NOW) == [changed]

    async def test_all_are_read_once(self, notes: StoredNotes) -> None:
        await keep(notes, a_notification(), a_notification(), a_notification(snoozed_until_us=NOW + 9))

        assert await notes.see_all("ada", NOW) == 2
        assert await notes.read_all("ada", NOW + 1) == 2
        assert await notes.read_all("ada", NOW + 2) == 0
        first = (await notes.page("ada", NotificationQuery(), NOW))[0]
        assert (first.seen_at_us, first.read_at_us) == (NOW, NOW + 1)
        assert await notes.unread("ada", NOW + 9) == 1, "what sleeps is still unread when it wakes"

    async def test_a_pulse_differs_after_whatever_happens(self, notes: StoredNotes) -> None:
        pulses = [await notes.pulses({"ada", "bob"}, 0, NOW)]
        note = a_notification(snoozed_until_us=NOW + 100)
        await keep(notes, note)
        pulses.append(await notes.pulses({"ada", "bob"}, 0, NOW))
        await notes.change("ada", note.id, partial(apply, change=NotificationChange.READ, now_us=NOW + 7))
        pulses.append(await notes.pulses({"ada", "bob"}, 0, NOW))

        assert pulses[0] == {}
        assert pulses[1] != pulses[2]
        assert await notes.pulses({"ada"}, NOW + 50, NOW + 60) == {}
        assert set(await notes.pulses({"ada"}, NOW + 50, NOW + 100)) == {"ada"}, "a snooze has ended"


# The shelves of an inbox on SQLite and PostgreSQL alike.

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


async def keep_in(database: Database, *new: Notification) -> None:
    """The bell of a new one follows what its person wants, so it is set afterwards."""
    notes = StoredNotes(database)
    for one in new:
        assert await notes.create(one, hourly_cap=1000)
        await notes.change(one.user_id, one.id, lambda _stored, one=one: one)  # type: ignore[misc]


async def test_every_notification_lies_on_exactly_one_shelf(database: Database) -> None:
    notes = {name: a_notification(**fields) for name, (fields, _) in PLACES.items()}
    await keep_in(database, *notes.values(), a_notification("eve"))
    shelves = StoredNotes(database)

    found = {
        shelf: {one.id for one in await shelves.page("ada", NotificationQuery(shelf=shelf), NOW)} for shelf in SHELVES
    }

    for shelf in SHELVES:
        assert found[shelf] == {notes[name].id for name, (_, wanted) in PLACES.items() if wanted is shelf}
    assert await shelves.counts("ada", NOW) == {shelf: len(ids) for shelf, ids in found.items()}
    assert all(shelf_of(notes[name], NOW) is wanted for name, (_, wanted) in PLACES.items())


async def test_a_shelf_is_counted_up_to_a_bound(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "MOST_SHELVED", 2)
    await keep_in(database, *(a_notification(archived_at_us=5) for _ in range(4)), a_notification())

    counts = await StoredNotes(database).counts("ada", NOW)

    assert (counts[Shelf.ARCHIVED], counts[Shelf.UNREAD]) == (3, 1)  # one above the bound stands for more than that


async def test_each_person_with_an_inbox_is_named_once_in_order(database: Database) -> None:
    assert await StoredNotes(database).people() == []
    await keep_in(database, *(a_notification(name) for name in ("eve", "ada", "eve", "bob", "ada")))

    assert await StoredNotes(database).people() == ["ada", "bob", "eve"]


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
            await StoredNotes(database).counts("ann", NOW)

    assert any("ix_notifications_snoozed" in step for step in steps)
