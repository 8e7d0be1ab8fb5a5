"""Links that confirm an address, on SQLite and PostgreSQL alike."""

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
from tests.people.known_people import household_people, owner

from postroom.inbox.model import (
    LINK_LIFE_SECONDS,
    MOST_A_DAY,
    AddressClaim,
    AskedToConfirm,
    Batch,
    DeliveryChannel,
    GivenUp,
    HandedOver,
    Notification,
    NotificationChange,
    Preferences,
    Terms,
    TryAgain,
)
from postroom.inbox.rules import apply
from postroom.inbox.store.mail import StoredConfirmations, StoredEmails, StoredPreferences
from postroom.inbox.store.notes import StoredNotes
from postroom.inbox.store.waiting import deferred_emails
from postroom.kernel.database.engine import Database
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import IdMint, seconds
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.people.model import PersonAddress
from postroom.people.store.people import StoredPeople
from postroom.people.store.tables import email_confirmations

ADA = "ada@example.com"
LEASE_US = seconds(60)
LIFE_US = seconds(LINK_LIFE_SECONDS)


@dataclass(frozen=True, slots=True)
class Desk:
    database: Database
    book: StoredPreferences
    links: StoredConfirmations

    async def wish(self, address: str | None, user_id: str = "ada", now_us: int = START_US) -> None:
        await self.book.change(user_id, lambda one: replace(one, email_pending=address), now_us)

    async def taken(self, now_us: int = START_US) -> list[AskedToConfirm]:
        return list(await self.links.take(now_us=now_us, lease_until_us=now_us + LEASE_US))


@pytest.fixture(params=KINDS)
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    async with opened_database(request.param, tmp_path, request) as database:
        people = StoredPeople(database, IdMint().mint, ())
        yield Desk(database, StoredPreferences(database), StoredConfirmations(database, people))


async def test_a_link_is_made_once_looked_at_often_and_good_once(desk: Desk) -> None:
    await desk.wish(ADA)
    (asked,) = await desk.taken()
    await desk.links.settle(asked, HandedOver("d1"), START_US)

    assert await desk.taken(START_US + 2 * LEASE_US) == []
    assert [await desk.links.claim(asked.secret, START_US) for _ in range(2)] == [
        AddressClaim(user_id="ada", address=ADA)
    ] * 2
    assert (await desk.book.of("ada")).email is None

    ends = await asyncio.gather(*(desk.links.confirm(asked.secret, START_US) for _ in range(4)))

    assert [end for end in ends if end is not None] == [AddressClaim(user_id="ada", address=ADA)]
    after = await desk.book.of("ada")
    assert (after.email, after.email_pending) == (ADA, None)
    assert await desk.links.claim(asked.secret, START_US) is None


async def test_the_secret_of_a_link_is_kept_nowhere(desk: Desk) -> None:
    await desk.wish(ADA)
    (asked,) = await desk.taken()

    rows = await desk.database.read(lambda connection: connection.execute(select(email_confirmations)).all())

    assert asked.secret not in str(rows) and asked.digest in str(rows)
    assert asked.secret not in repr(asked)


@pytest.mark.parametrize("what", ["another", "none", "late", "unknown"])
async def test_a_link_that_is_no_longer_wanted_confirms_nothing(desk: Desk, what: str) -> None:
    await desk.wish(ADA)
    (asked,) = await desk.taken()
    if what in ("another", "none"):
        await desk.wish("other@example.com" if what == "another" else None)
    now_us = START_US + LIFE_US if what == "late" else START_US

    assert await desk.links.confirm("x" * 43 if what == "unknown" else asked.secret, now_us) is None
    assert (await desk.book.of("ada")).email is None


async def test_a_mail_whose_sender_died_is_sent_again_under_a_new_link(desk: Desk) -> None:
    await desk.wish(ADA)
    (first,) = await desk.taken()
    assert await desk.taken(START_US + LEASE_US - 1) == []

    (second,) = await desk.taken(START_US + LEASE_US)
    await desk.links.settle(first, HandedOver("late"), START_US + LEASE_US)

    assert await desk.links.claim(first.secret, START_US + LEASE_US) is None
    assert await desk.links.claim(second.secret, START_US + LEASE_US) is not None
    assert await desk.book.awaits_confirmation("email", ADA)


async def test_a_mail_that_could_not_leave_waits_its_turn(desk: Desk) -> None:
    await desk.wish(ADA)
    (asked,) = await desk.taken()
    await desk.links.settle(asked, TryAgain(START_US + 5, "overload_rejected"), START_US)

    assert await desk.taken(START_US + 4) == []
    assert [one.address for one in await desk.taken(START_US + 5)] == [ADA]


async def test_what_nobody_wishes_any_more_is_not_asked(desk: Desk) -> None:
    await desk.wish(ADA)
    await desk.wish(None)

    assert await desk.taken() == []


async def test_preferences_are_no_way_to_write_to_many(desk: Desk) -> None:
    for number in range(MOST_A_DAY):
        await desk.wish(f"stranger{number}@example.com")

    with pytest.raises(ValidationError):
        await desk.wish("one-more@example.com")

    assert (await desk.book.of("ada")).email_pending == f"stranger{MOST_A_DAY - 1}@example.com"
    await desk.wish("bob@example.com", "bob")
    await desk.wish("one-more@example.com", now_us=START_US + seconds(24 * 3600))


@pytest.fixture
def book(database: Database) -> StoredPreferences:
    return StoredPreferences(database)


async def test_somebody_who_never_said_anything_has_the_defaults(book: StoredPreferences) -> None:
    assert await book.of("ada") == Preferences()


async def test_what_was_written_is_read_by_its_owner_alone(book: StoredPreferences) -> None:
    wished = replace(AT_NIGHT, quiet_hours_timezone="Asia/Kolkata", high_priority_passes=True)
    assert await book.change("ada", lambda _: wished, START_US) == wished

    assert await book.of("ada") == wished
    assert await book.of("bob") == Preferences()


async def test_two_edits_at_once_both_count(book: StoredPreferences) -> None:
    await asyncio.gather(
        book.change("ada", lambda one: replace(one, email="ada@example.com"), START_US),
        book.change("ada", lambda one: replace(one, delivery_channel=DeliveryChannel.BOTH), START_US),
        book.change("ada", lambda one: replace(one, high_priority_passes=True), START_US),
    )

    after = await book.of("ada")
    assert (after.email, after.delivery_channel, after.high_priority_passes) == (
        "ada@example.com",
        DeliveryChannel.BOTH,
        True,
    )


async def test_an_edit_that_is_refused_changes_nothing(book: StoredPreferences) -> None:
    def refuse(_: Preferences) -> Preferences:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await book.change("ada", refuse, START_US)

    assert await book.of("ada") == Preferences()


async def test_an_address_that_somebody_has_set_is_known_as_their_own(book: StoredPreferences) -> None:
    await book.change("ada", lambda one: replace(one, email="ada@example.com"), START_US)

    assert await book.is_users_own("email", "ada@example.com")
    assert not await book.is_users_own("email", "bob@example.com")
    assert not await book.is_users_own("telegram", "ada@example.com")


async def test_an_address_that_waits_to_be_confirmed_is_nobodys_own(book: StoredPreferences) -> None:
    await book.change("ada", lambda one: replace(one, email_pending="ada@example.com"), START_US)

    assert not await book.is_users_own("email", "ada@example.com")
    assert not await book.awaits_confirmation("email", "ada@example.com")  # no mail that asks is on its way yet


@pytest.mark.requirement("house:owners-inbox")
async def test_the_operators_address_for_copies_is_the_owners_until_another_is_named(
    database: Database, book: StoredPreferences
) -> None:
    stored, _ = await household_people(database, owner("Olivia", "1000", "o@x.org"))
    wished = await book.change("operator", lambda one: replace(one, delivery_channel=DeliveryChannel.BOTH), START_US)
    assert (wished.email, wished.delivery_channel) == ("o@x.org", DeliveryChannel.BOTH)

    await stored.keep_in_step(HOUSEHOLD_OWNER, [owner("Olivia", "1000", "new@x.org")], now_us=2)
    assert (await book.of("operator")).email == "new@x.org"  # it follows, as nothing was stored
    await book.change("operator", lambda one: replace(one, email="other@x.org"), START_US)
    assert (await book.of("operator")).email == "other@x.org"
    assert (await book.of("ada")).email is None


@pytest.mark.requirement("house:owners-inbox")
async def test_an_address_of_the_owner_that_is_not_proved_gets_no_copies(
    database: Database, book: StoredPreferences
) -> None:
    stored, _ = await household_people(database, owner("Olivia"))
    place = PersonAddress(channel="email", address="typed@x.org")
    await stored.change(HOUSEHOLD_OWNER, "owner", lambda one: replace(one.as_written, addresses=(place,)), now_us=2)

    assert (await book.of("operator")).email is None


# E-mail copies: judged again, leased, fenced, and handed over as they were decided.

NOW = START_US
MORNING = QUIET_ENDS_US
LEASE = 60_000_000


@dataclass(frozen=True)
class EmailDesk:
    database: Database
    notes: StoredNotes
    emails: StoredEmails
    preferences: StoredPreferences

    async def wish(self, preferences: Preferences, user_id: str = "ada") -> None:
        await self.preferences.change(user_id, lambda _: preferences, NOW)

    async def keep(self, *new: Notification) -> None:
        for one in new:
            assert await self.notes.create(one, hourly_cap=10_000, terms=Terms(email_enabled=True)) is not None

    async def take(self, now_us: int, *, digest: bool = True, enabled: bool = True) -> Sequence[Batch]:
        return await self.emails.take(
            now_us=now_us,
            lease_until_us=now_us + LEASE,
            digest=digest,
            terms=Terms(email_enabled=enabled),
            mint=MINT.mint,
        )

    async def rows(self) -> list[dict[str, Any]]:
        found = select(deferred_emails).order_by(deferred_emails.c.created_at, deferred_emails.c.id)
        return await self.database.read(lambda connection: [dict(row) for row in connection.execute(found).mappings()])


@pytest.fixture(params=KINDS)
async def email_desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EmailDesk]:
    async with opened_database(request.param, tmp_path, request) as database:
        yield EmailDesk(database, StoredNotes(database), StoredEmails(database), StoredPreferences(database))


def messages(batches: Sequence[Batch]) -> list[list[str]]:
    return [[one.message for one in batch.notifications] for batch in batches]


async def test_by_day_each_leaves_by_itself_under_its_own_id(email_desk: EmailDesk) -> None:
    await email_desk.wish(BY_EMAIL)
    notes = [a_notification(message="One"), a_notification(message="Two")]
    await email_desk.keep(*notes)
    batches = await email_desk.take(NOW)

    assert [batch.id for batch in batches] == [note.id for note in notes]
    assert {batch.address for batch in batches} == {"ada@example.com"}


async def test_what_waited_for_the_morning_leaves_as_one_in_the_order_it_came(email_desk: EmailDesk) -> None:
    await email_desk.wish(replace(AT_NIGHT, quiet_hours_timezone="UTC"))
    await email_desk.keep(*(a_notification(message=str(number), at_us=NOW + number) for number in range(3)))

    assert await email_desk.take(MORNING - 1) == []
    (batch,) = await email_desk.take(MORNING)
    assert messages([batch]) == [["0", "1", "2"]]
    assert (batch.user_id, batch.zone, batch.attempts) == ("ada", "UTC", 0)


async def test_digests_can_be_switched_off(email_desk: EmailDesk) -> None:
    await email_desk.wish(AT_NIGHT)
    await email_desk.keep(a_notification(message="One"), a_notification(message="Two"))

    assert messages(await email_desk.take(MORNING, digest=False)) == [["One"], ["Two"]]


async def test_a_night_of_many_notes_is_still_one_digest(email_desk: EmailDesk) -> None:
    await email_desk.wish(AT_NIGHT)
    await email_desk.keep(*(a_notification(at_us=NOW + number) for number in range(80)))

    assert [len(batch.notifications) for batch in await email_desk.take(MORNING)] == [80]


async def test_what_is_too_long_for_one_message_becomes_several_digests_and_each_note_is_in_one(
    email_desk: EmailDesk,
) -> None:
    await email_desk.wish(AT_NIGHT)
    long = {"message": "m" * 500, "link": "https://example.com/" + "l" * 1980}
    notes = [a_notification(at_us=NOW + number, **long) for number in range(50)]
    await email_desk.keep(*notes)
    batches = await email_desk.take(MORNING)

    assert [len(batch.notifications) for batch in batches] == [38, 12]
    assert [one.id for batch in batches for one in batch.notifications] == [note.id for note in notes]


async def test_nobody_shares_a_digest_with_somebody_else(email_desk: EmailDesk) -> None:
    for user_id in ("ada", "bob"):
        await email_desk.wish(replace(AT_NIGHT, email=f"{user_id}@example.com"), user_id)
        await email_desk.keep(a_notification(user_id, message=user_id), a_notification(user_id, message=user_id))

    batches = sorted(await email_desk.take(MORNING), key=lambda batch: batch.user_id)
    assert messages(batches) == [["ada", "ada"], ["bob", "bob"]]
    assert [batch.address for batch in batches] == ["ada@example.com", "bob@example.com"]


@pytest.mark.parametrize("change", [NotificationChange.DISMISS, NotificationChange.READ, NotificationChange.ARCHIVE])
async def test_what_its_reader_dealt_with_in_the_night_is_never_mailed(
    email_desk: EmailDesk, change: NotificationChange
) -> None:
    await email_desk.wish(AT_NIGHT)
    gone, kept = a_notification(message="Gone"), a_notification(message="Kept")
    await email_desk.keep(gone, kept)
    await email_desk.notes.change("ada", gone.id, partial(apply, change=change, now_us=NOW + 1))

    assert messages(await email_desk.take(MORNING)) == [["Kept"]]
    cancelled = next(row for row in await email_desk.rows() if row["notification_id"] == gone.id)
    assert cancelled["cancelled_at"] == MORNING
    assert await email_desk.emails.next_due_us() == MORNING + LEASE, "nothing but the leased one is left"


@pytest.mark.parametrize(
    "wished",
    [
        pytest.param(replace(AT_NIGHT, delivery_channel=DeliveryChannel.IN_APP), id="no e-mail any more"),
        pytest.param(replace(AT_NIGHT, email=None), id="no address any more"),
    ],
)
async def test_somebody_who_opted_out_in_the_night_gets_nothing(email_desk: EmailDesk, wished: Preferences) -> None:
    await email_desk.wish(AT_NIGHT)
    await email_desk.keep(a_notification())
    await email_desk.wish(wished)

    assert await email_desk.take(MORNING) == []
    assert [row["cancelled_at"] for row in await email_desk.rows()] == [MORNING]


async def test_when_e_mail_is_switched_off_what_waits_is_dropped(email_desk: EmailDesk) -> None:
    await email_desk.wish(AT_NIGHT)
    await email_desk.keep(a_notification())

    assert await email_desk.take(MORNING, enabled=False) == []
    assert [row["error_message"] for row in await email_desk.rows()] == ["e-mail is switched off"]


async def test_quiet_hours_that_were_moved_are_kept_to(email_desk: EmailDesk) -> None:
    await email_desk.wish(AT_NIGHT)
    await email_desk.keep(a_notification())
    later = AT_NIGHT.quiet_hours_end
    assert later is not None
    await email_desk.wish(replace(AT_NIGHT, quiet_hours_end=later.replace(hour=9)))

    assert await email_desk.take(MORNING) == []
    assert await email_desk.emails.next_due_us() == MORNING + 2 * 3600 * 1_000_000
    assert len(await email_desk.take(MORNING + 2 * 3600 * 1_000_000)) == 1


async def test_what_a_lost_worker_had_taken_comes_back_as_it_was_whatever_happened_since(email_desk: EmailDesk) -> None:
    await email_desk.wish(AT_NIGHT)
    await email_desk.keep(a_notification(message="One"), a_notification(message="Two"))
    (first,) = await email_desk.take(MORNING)
    await email_desk.wish(replace(AT_NIGHT, email="elsewhere@example.com", quiet_hours_timezone="Asia/Tokyo"))
    await email_desk.notes.read_all("ada", MORNING)
    await email_desk.keep(a_notification(message="Three", at_us=MORNING))

    again = await email_desk.take(MORNING + LEASE + 1)
    second = next(batch for batch in again if batch.id == first.id)
    assert (second.address, second.zone, messages([second])) == (first.address, first.zone, [["One", "Two"]])
    assert second.fence == first.fence + 1
    assert not await email_desk.emails.settle(first, HandedOver("late"), MORNING)
    assert await email_desk.emails.settle(second, HandedOver("d1"), MORNING + LEASE + 2)
    assert [row["delivery_id"] for row in await email_desk.rows()][:2] == ["d1", "d1"]


async def test_what_could_not_be_handed_over_comes_back_when_it_said(email_desk: EmailDesk) -> None:
    await email_desk.wish(BY_EMAIL)
    await email_desk.keep(a_notification())
    (batch,) = await email_desk.take(NOW)
    assert await email_desk.emails.settle(batch, TryAgain(NOW + 500, "overload_rejected"), NOW)

    assert await email_desk.emails.next_due_us() == NOW + 500
    assert await email_desk.take(NOW + 499) == []
    (again,) = await email_desk.take(NOW + 500)
    assert (again.id, again.attempts) == (batch.id, 1)


@pytest.mark.parametrize("ending", [HandedOver("d1"), GivenUp("validation_error")], ids=["handed over", "given up"])
async def test_what_has_ended_never_comes_back(email_desk: EmailDesk, ending: HandedOver | GivenUp) -> None:
    await email_desk.wish(BY_EMAIL)
    await email_desk.keep(a_notification())
    (batch,) = await email_desk.take(NOW)

    assert await email_desk.emails.settle(batch, ending, NOW)
    assert not await email_desk.emails.settle(batch, ending, NOW)
    assert await email_desk.take(NOW + 10 * LEASE) == []
    assert await email_desk.emails.next_due_us() is None
