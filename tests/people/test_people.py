"""Who is who, from memory, and never older than it may be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.clock import FakeClock
from tests.opened_database import opened_file
from tests.people.known_people import household_people, owner

from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.people.model import NewPerson, Person, PersonAddress, PersonRole
from postroom.people.names.normalise import keys_of
from postroom.people.people import GOOD_FOR_SECONDS
from postroom.people.person_rules import new_contact
from postroom.people.store.people import StoredPeople


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_file(tmp_path) as database:
        yield database


def also_on_slack(person: Person) -> NewPerson:
    more = PersonAddress(channel="slack", address="U01", rank=3)
    return replace(person.as_written, addresses=(*person.addresses, more))


@pytest.mark.requirement("house:owner-anywhere")
async def test_the_owner_is_known_on_every_channel_the_database_names(database: Database) -> None:
    stored, people = await household_people(database, owner("Olivia", "1000", "o@x.org"))
    assert [await people.owner(channel) for channel in ("telegram", "email", "slack")] == ["1000", "o@x.org", None]

    await stored.change(HOUSEHOLD_OWNER, "owner", also_on_slack, now_us=2)

    assert await people.owner("slack") == "U01"
    assert await people.addresses("olivia", "slack") == ["U01"]
    assert await people.addresses("owner", "slack") == ["U01"]


async def test_what_another_process_changes_is_known_within_two_seconds(database: Database, clock: FakeClock) -> None:
    _, people = await household_people(database, owner("Olivia", "1000"), clock=clock)
    await people.known()
    elsewhere = StoredPeople(database, IdMint().mint, keys_of, ())
    await elsewhere.change(HOUSEHOLD_OWNER, "owner", also_on_slack, now_us=2)

    assert await people.owner("slack") is None
    await clock.advance(GOOD_FOR_SECONDS)
    assert await people.owner("slack") == "U01"


async def test_while_nothing_changes_what_is_held_is_held(database: Database, clock: FakeClock) -> None:
    _, people = await household_people(database, owner("Olivia", "1000"), clock=clock)
    before = await people.known()

    assert await people.known() is before
    await clock.advance(GOOD_FOR_SECONDS)
    assert (await people.known()).trusted is before.trusted


async def test_a_contact_keeps_its_name_when_somebody_who_signs_in_has_the_same(database: Database) -> None:
    anna = new_contact(name="Anna", email="anna@contact.org")
    stored, people = await household_people(database, owner("Olivia"), anna)
    await stored.admit({"anna": PersonRole.MEMBER, "ben": PersonRole.MEMBER}, now_us=1)
    for person_id in ("anna", "ben"):
        place = PersonAddress(channel="email", address=f"{person_id}@inbox.org")
        await stored.change(
            HOUSEHOLD_OWNER, person_id, lambda one, at=place: replace(one.as_written, addresses=(at,)), now_us=2
        )

    assert await people.addresses("Anna", "email") == ["anna@contact.org"]
    assert await people.addresses("ben", "email") == ["ben@inbox.org"]


@pytest.mark.requirement("house:approver-role")
async def test_who_approves_is_as_of_the_last_look_and_nobody_when_that_is_long_ago(
    database: Database, clock: FakeClock
) -> None:
    stored, people = await household_people(database, owner("Olivia"), clock=clock)
    ann = await stored.create(HOUSEHOLD_OWNER, NewPerson(name="Ann", role=PersonRole.APPROVER), source="api", now_us=1)
    await stored.create("agent://user/eve", NewPerson(name="Eve", role=PersonRole.APPROVER), source="api", now_us=1)
    assert people.approvers == frozenset()

    assert await people.look() > clock.now_us()
    assert people.approvers == {ann.id}
    await clock.advance(60)
    assert people.approvers == frozenset()


@pytest.mark.requirement("chan:auto")
async def test_a_persons_channels_are_in_their_own_order(database: Database) -> None:
    places = (
        PersonAddress(channel="slack", address="U02", rank=2),
        PersonAddress(channel="push", address="bobs", rank=1),
        PersonAddress(channel="push", address="bobs-too", rank=3),
    )
    _, people = await household_people(
        database, owner("Olivia", "1000", "o@x.org"), NewPerson(name="Bob", addresses=places)
    )

    assert await people.channels_of("bob") == ["push", "slack"]
    assert await people.channels_of(None) == ["telegram", "email"]
    assert await people.channels_of("Nobody") == []


async def test_a_contact_who_is_called_like_an_address_gets_nothing_that_is_sent_there(database: Database) -> None:
    thief = NewPerson(name="U01", addresses=(PersonAddress(channel="slack", address="U66", rank=1),))
    stored, people = await household_people(database, owner("Olivia", "1000"), thief)
    assert await people.addresses("U01", "slack") == ["U66"]

    await stored.change(HOUSEHOLD_OWNER, "owner", also_on_slack, now_us=2)

    assert await people.addresses("U01", "slack") == []


def on_ntfy(name: str, topic: str) -> NewPerson:
    return NewPerson(name=name, addresses=(PersonAddress(channel="ntfy", address=topic, rank=1),))


@pytest.mark.parametrize("written", ["Zed", "ZED"])
async def test_a_known_address_in_other_letters_is_written_as_its_person_wrote_it(
    database: Database, written: str
) -> None:
    """On ntfy it would be another topic, which anybody may read."""
    _, people = await household_people(database, owner("Olivia"), on_ntfy("Zed", "zed"))

    assert await people.addresses(written, "ntfy") == ["zed"]


async def test_of_addresses_that_differ_in_their_letters_none_is_guessed(database: Database) -> None:
    _, people = await household_people(database, owner("Olivia"), on_ntfy("Zoe", "hall"), on_ntfy("Zac", "HALL"))

    assert await people.addresses("HALL", "ntfy") == []
    assert sorted(await people.addresses("Hall", "ntfy")) == ["HALL", "hall"]
