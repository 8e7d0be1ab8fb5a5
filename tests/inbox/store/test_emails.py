"""E-mail copies: judged again, leased, fenced, and handed over as they were decided."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from tests.clock import START_US
from tests.inbox.examples import AT_NIGHT, BY_EMAIL, MINT, QUIET_ENDS_US, a_notification
from tests.opened_database import KINDS, opened_database

from postroom.inbox.inbox import judge
from postroom.inbox.model import (
    Batch,
    DeliveryChannel,
    GivenUp,
    HandedOver,
    Notification,
    NotificationChange,
    Preferences,
    TryAgain,
)
from postroom.inbox.rules import apply
from postroom.inbox.store.mail import StoredEmails, StoredPreferences
from postroom.inbox.store.notes import StoredNotes
from postroom.inbox.store.waiting import deferred_emails
from postroom.kernel.database.engine import Database

NOW = START_US
MORNING = QUIET_ENDS_US
LEASE = 60_000_000


@dataclass(frozen=True)
class Desk:
    database: Database
    notes: StoredNotes
    emails: StoredEmails
    preferences: StoredPreferences

    async def wish(self, preferences: Preferences, user_id: str = "ada") -> None:
        await self.preferences.change(user_id, lambda _: preferences, NOW)

    async def keep(self, *new: Notification) -> None:
        for one in new:
            decide = partial(judge, email_enabled=True, now_us=one.created_at_us)
            assert await self.notes.create(one, hourly_cap=10_000, judge=decide) is not None

    async def take(self, now_us: int, *, digest: bool = True, enabled: bool = True) -> Sequence[Batch]:
        return await self.emails.take(
            now_us=now_us,
            lease_until_us=now_us + LEASE,
            digest=digest,
            judge=partial(judge, email_enabled=enabled, now_us=now_us),
            mint=MINT.mint,
        )

    async def rows(self) -> list[dict[str, Any]]:
        found = select(deferred_emails).order_by(deferred_emails.c.created_at, deferred_emails.c.id)
        return await self.database.read(lambda connection: [dict(row) for row in connection.execute(found).mappings()])


@pytest.fixture(params=KINDS)
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    async with opened_database(request.param, tmp_path, request) as database:
        yield Desk(database, StoredNotes(database, MINT.mint), StoredEmails(database), StoredPreferences(database))


def messages(batches: Sequence[Batch]) -> list[list[str]]:
    return [[one.message for one in batch.notifications] for batch in batches]


async def test_by_day_each_leaves_by_itself_under_its_own_id(desk: Desk) -> None:
    await desk.wish(BY_EMAIL)
    notes = [a_notification(message="One"), a_notification(message="Two")]
    await desk.keep(*notes)
    batches = await desk.take(NOW)

    assert [batch.id for batch in batches] == [note.id for note in notes]
    assert {batch.address for batch in batches} == {"ada@example.com"}


async def test_what_waited_for_the_morning_leaves_as_one_in_the_order_it_came(desk: Desk) -> None:
    await desk.wish(replace(AT_NIGHT, quiet_hours_timezone="UTC"))
    await desk.keep(*(a_notification(message=str(number), at_us=NOW + number) for number in range(3)))

    assert await desk.take(MORNING - 1) == []
    (batch,) = await desk.take(MORNING)
    assert messages([batch]) == [["0", "1", "2"]]
    assert (batch.user_id, batch.zone, batch.attempts) == ("ada", "UTC", 0)


async def test_digests_can_be_switched_off(desk: Desk) -> None:
    await desk.wish(AT_NIGHT)
    await desk.keep(a_notification(message="One"), a_notification(message="Two"))

    assert messages(await desk.take(MORNING, digest=False)) == [["One"], ["Two"]]


async def test_a_night_of_many_notes_is_still_one_digest(desk: Desk) -> None:
    await desk.wish(AT_NIGHT)
    await desk.keep(*(a_notification(at_us=NOW + number) for number in range(80)))

    assert [len(batch.notifications) for batch in await desk.take(MORNING)] == [80]


async def test_what_is_too_long_for_one_message_becomes_several_digests_and_each_note_is_in_one(desk: Desk) -> None:
    await desk.wish(AT_NIGHT)
    long = {"message": "m" * 500, "link": "https://example.com/" + "l" * 1980}
    notes = [a_notification(at_us=NOW + number, **long) for number in range(50)]
    await desk.keep(*notes)
    batches = await desk.take(MORNING)

    assert [len(batch.notifications) for batch in batches] == [38, 12]
    assert [one.id for batch in batches for one in batch.notifications] == [note.id for note in notes]


async def test_nobody_shares_a_digest_with_somebody_else(desk: Desk) -> None:
    for user_id in ("ada", "bob"):
        await desk.wish(replace(AT_NIGHT, email=f"{user_id}@example.com"), user_id)
        await desk.keep(a_notification(user_id, message=user_id), a_notification(user_id, message=user_id))

    batches = sorted(await desk.take(MORNING), key=lambda batch: batch.user_id)
    assert messages(batches) == [["ada", "ada"], ["bob", "bob"]]
    assert [batch.address for batch in batches] == ["ada@example.com", "bob@example.com"]


@pytest.mark.parametrize("change", [NotificationChange.DISMISS, NotificationChange.READ, NotificationChange.ARCHIVE])
async def test_what_its_reader_dealt_with_in_the_night_is_never_mailed(desk: Desk, change: NotificationChange) -> None:
    await desk.wish(AT_NIGHT)
    gone, kept = a_notification(message="Gone"), a_notification(message="Kept")
    await desk.keep(gone, kept)
    await desk.notes.change("ada", gone.id, partial(apply, change=change, now_us=NOW + 1))

    assert messages(await desk.take(MORNING)) == [["Kept"]]
    cancelled = next(row for row in await desk.rows() if row["notification_id"] == gone.id)
    assert cancelled["cancelled_at"] == MORNING
    assert await desk.emails.next_due_us() == MORNING + LEASE, "nothing but the leased one is left"


@pytest.mark.parametrize(
    "wished",
    [
        pytest.param(replace(AT_NIGHT, delivery_channel=DeliveryChannel.IN_APP), id="no e-mail any more"),
        pytest.param(replace(AT_NIGHT, email=None), id="no address any more"),
    ],
)
async def test_somebody_who_opted_out_in_the_night_gets_nothing(desk: Desk, wished: Preferences) -> None:
    await desk.wish(AT_NIGHT)
    await desk.keep(a_notification())
    await desk.wish(wished)

    assert await desk.take(MORNING) == []
    assert [row["cancelled_at"] for row in await desk.rows()] == [MORNING]


async def test_when_e_mail_is_switched_off_what_waits_is_dropped(desk: Desk) -> None:
    await desk.wish(AT_NIGHT)
    await desk.keep(a_notification())

    assert await desk.take(MORNING, enabled=False) == []
    assert [row["error_message"] for row in await desk.rows()] == ["e-mail is switched off"]


async def test_quiet_hours_that_were_moved_are_kept_to(desk: Desk) -> None:
    await desk.wish(AT_NIGHT)
    await desk.keep(a_notification())
    later = AT_NIGHT.quiet_hours_end
    assert later is not None
    await desk.wish(replace(AT_NIGHT, quiet_hours_end=later.replace(hour=9)))

    assert await desk.take(MORNING) == []
    assert await desk.emails.next_due_us() == MORNING + 2 * 3600 * 1_000_000
    assert len(await desk.take(MORNING + 2 * 3600 * 1_000_000)) == 1


async def test_what_is_leased_is_nobody_elses(desk: Desk) -> None:
    await desk.wish(BY_EMAIL)
    await desk.keep(a_notification())

    assert len(await desk.take(NOW)) == 1
    assert await desk.take(NOW + LEASE) == []


async def test_workers_that_take_at_once_share_nothing(desk: Desk) -> None:
    users = [f"user{number}" for number in range(30)]
    for user_id in users:
        await desk.wish(BY_EMAIL, user_id)
        await desk.keep(a_notification(user_id))
    taken: list[str] = []
    while rounds := await asyncio.gather(*(desk.take(NOW) for _ in range(4))):
        found = [batch.user_id for batches in rounds for batch in batches]
        if not found:
            break
        taken += found

    assert sorted(taken) == sorted(users)


async def test_what_a_lost_worker_had_taken_comes_back_as_it_was_whatever_happened_since(desk: Desk) -> None:
    await desk.wish(AT_NIGHT)
    await desk.keep(a_notification(message="One"), a_notification(message="Two"))
    (first,) = await desk.take(MORNING)
    await desk.wish(replace(AT_NIGHT, email="elsewhere@example.com", quiet_hours_timezone="Asia/Tokyo"))
    await desk.notes.read_all("ada", MORNING)
    await desk.keep(a_notification(message="Three", at_us=MORNING))

    again = await desk.take(MORNING + LEASE + 1)
    second = next(batch for batch in again if batch.id == first.id)
    assert (second.address, second.zone, messages([second])) == (first.address, first.zone, [["One", "Two"]])
    assert second.fence == first.fence + 1
    assert not await desk.emails.settle(first, HandedOver("late"), MORNING)
    assert await desk.emails.settle(second, HandedOver("d1"), MORNING + LEASE + 2)
    assert [row["delivery_id"] for row in await desk.rows()][:2] == ["d1", "d1"]


async def test_what_could_not_be_handed_over_comes_back_when_it_said(desk: Desk) -> None:
    await desk.wish(BY_EMAIL)
    await desk.keep(a_notification())
    (batch,) = await desk.take(NOW)
    assert await desk.emails.settle(batch, TryAgain(NOW + 500, "overload_rejected"), NOW)

    assert await desk.emails.next_due_us() == NOW + 500
    assert await desk.take(NOW + 499) == []
    (again,) = await desk.take(NOW + 500)
    assert (again.id, again.attempts) == (batch.id, 1)


@pytest.mark.parametrize("ending", [HandedOver("d1"), GivenUp("validation_error")], ids=["handed over", "given up"])
async def test_what_has_ended_never_comes_back(desk: Desk, ending: HandedOver | GivenUp) -> None:
    await desk.wish(BY_EMAIL)
    await desk.keep(a_notification())
    (batch,) = await desk.take(NOW)

    assert await desk.emails.settle(batch, ending, NOW)
    assert not await desk.emails.settle(batch, ending, NOW)
    assert await desk.take(NOW + 10 * LEASE) == []
    assert await desk.emails.next_due_us() is None
