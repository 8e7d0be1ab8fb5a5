"""Quiet hours have one place: what is set in the inbox is the policy's, and what is set there is the inbox's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import time
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.clock import FakeClock
from tests.inbox.examples import AT_NIGHT, BY_EMAIL, MINT, QUIET_ENDS_US, a_notification
from tests.opened_database import KINDS, opened_database

from postroom.attention.attention import Attention
from postroom.attention.model import Policy, Preset, QuietWindow
from postroom.attention.rules.policy import Absence
from postroom.attention.store import StoredNotices, attention_people
from postroom.attention.turn import NoticeBook
from postroom.household.wiring.attention import HouseholdNames
from postroom.household.wiring.store import stored_people
from postroom.inbox.inbox import InboxWishes, judge
from postroom.inbox.model import Defer, Preferences
from postroom.inbox.preferences import warnings_of
from postroom.inbox.store.mail import StoredPreferences
from postroom.inbox.store.notes import StoredNotes
from postroom.inbox.store.waiting import deferred_emails
from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import seconds

NIGHT = QuietWindow(time(22), time(7))
SIESTA = QuietWindow(time(13), time(15), ("sat", "sun"))


@dataclass(frozen=True)
class Desk:
    database: Database
    clock: FakeClock
    wishes: InboxWishes
    attention: Attention
    notes: StoredNotes

    async def wish(self, after: Preferences, user_id: str = "ada") -> Preferences:
        return await self.wishes.change(user_id, lambda _: after, self.clock.now_us())

    async def leave_a_note(self) -> Defer | None:
        now_us = self.clock.now_us()
        decide = partial(judge, email_enabled=True, now_us=now_us)
        created = await self.notes.create(a_notification(at_us=now_us), hourly_cap=100, judge=decide)
        assert created is not None
        return created[1] if isinstance(created[1], Defer) else None

    async def hours(self) -> list[int]:
        asked = select(deferred_emails.c.deliver_after).order_by(deferred_emails.c.created_at)
        return await self.database.read(lambda connection: list(connection.execute(asked).scalars()))


@pytest.fixture(params=KINDS)
async def desk(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Desk]:
    async with opened_database(request.param, tmp_path, request) as database:
        people = HouseholdNames(people=stored_people(database, MINT))
        book = NoticeBook(store=StoredNotices(database), people=people, clock=clock)
        wishes = InboxWishes(rows=StoredPreferences(database), book=book)
        yield Desk(database, clock, wishes, Attention(book=book), StoredNotes(database, MINT.mint))


@pytest.mark.requirement("attention:one-quiet-hours")
async def test_what_is_set_in_the_inbox_is_the_policys(desk: Desk) -> None:
    wished = replace(AT_NIGHT, quiet_hours_timezone="Asia/Kolkata")
    assert await desk.wish(wished) == await desk.wishes.of("ada") == wished

    policy, digest = await desk.attention.policy("ada")
    assert policy == Policy(zone="Asia/Kolkata", quiet_hours=(NIGHT,))
    await desk.wish(replace(wished, email=None))
    assert (await desk.attention.policy("ada"))[1] == digest
    await desk.wish(BY_EMAIL)
    assert (await desk.attention.policy("ada"))[0] is None
    assert await desk.attention.audit() == ()


@pytest.mark.requirement("attention:one-quiet-hours")
async def test_the_operators_inbox_is_the_owners(desk: Desk) -> None:
    await desk.wish(AT_NIGHT, "operator")

    assert (await desk.attention.policy("owner"))[0] == Policy(quiet_hours=(NIGHT,))


@pytest.mark.requirement("attention:one-quiet-hours")
async def test_what_is_set_in_the_policy_is_shown_in_the_inbox_and_holds_its_copies(desk: Desk) -> None:
    await desk.wish(BY_EMAIL)
    await desk.attention.set_policy("ada", Policy(preset=Preset.EVERYTHING, zone="UTC", quiet_hours=(NIGHT, SIESTA)))

    shown = await desk.wishes.of("ada")
    assert (shown.quiet_hours_start, shown.quiet_hours_end) == (time(22), time(7))
    (warning,) = warnings_of(shown, email_enabled=True)
    assert "22:00-07:00, sat sun 13:00-15:00" in warning
    await desk.wish(replace(shown, email="other@example.com"))
    policy, _ = await desk.attention.policy("ada")
    assert policy is not None and policy.quiet_hours == (NIGHT, SIESTA)
    held = await desk.leave_a_note()
    assert held == Defer(QUIET_ENDS_US) and [str(one.reason) for one in held.reasons] == ["quiet"]


@pytest.mark.requirement("attention:one-quiet-hours")
async def test_what_the_person_wants_now_counts_for_copies_that_already_wait(desk: Desk) -> None:
    await desk.wish(AT_NIGHT)
    await desk.leave_a_note()
    assert await desk.hours() == [QUIET_ENDS_US]
    await desk.clock.advance(60)

    await desk.attention.set_policy("ada", None)
    assert await desk.hours() == [desk.clock.now_us()]


async def test_who_is_away_gets_no_copies_until_they_are_back(desk: Desk) -> None:
    await desk.wish(BY_EMAIL)
    start_us = desk.clock.now_us()
    back_us = start_us + seconds(2 * 86_400)
    await desk.attention.away("ada", Absence(start_us=start_us, end_us=back_us))

    held = await desk.leave_a_note()
    assert held == Defer(back_us) and [str(one.reason) for one in held.reasons] == ["away"]


@pytest.mark.requirement("attention:neutral")
async def test_who_says_nothing_about_hours_has_no_policy_and_no_row(desk: Desk) -> None:
    await desk.wish(replace(BY_EMAIL, quiet_hours_timezone="Europe/Berlin", high_priority_passes=True))

    rows = await desk.database.read(lambda connection: connection.execute(select(attention_people)).all())
    assert rows == []
    assert (await desk.wishes.of("ada")).quiet_hours_timezone == "Europe/Berlin"
