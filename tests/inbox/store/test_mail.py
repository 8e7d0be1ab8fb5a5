"""Links that confirm an address, on SQLite and PostgreSQL alike."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

import pytest
from sqlalchemy import select
from tests.clock import START_US
from tests.inbox.examples import AT_NIGHT
from tests.people.known_people import household_people, owner

from postroom.inbox.model import (
    LINK_LIFE_SECONDS,
    MOST_A_DAY,
    AddressClaim,
    AskedToConfirm,
    DeliveryChannel,
    HandedOver,
    Preferences,
    TryAgain,
)
from postroom.inbox.store.mail import StoredConfirmations, StoredPreferences
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


@pytest.fixture
def desk(database: Database) -> Desk:
    people = StoredPeople(database, IdMint().mint, ())
    return Desk(database, StoredPreferences(database), StoredConfirmations(database, people))


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
