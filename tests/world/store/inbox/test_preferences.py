"""Preferences on SQLite and PostgreSQL alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.clock import START_US
from tests.opened_database import KINDS, opened_database
from tests.work.inbox.examples import AT_NIGHT
from tests.work.people.known_people import household_people, owner

from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.notification import DeliveryChannel, Preferences
from postroom.domain.person import PersonAddress
from postroom.world.store.engine.database import Database
from postroom.world.store.inbox.preferences import StoredPreferences


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as opened:
        yield opened


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
