"""Who is who, from memory, and never older than it may be."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.clock import FakeClock
from tests.people.known_people import household_people, owner

from postroom.channels.telegram.channel import Telegram
from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.people.model import NewPerson, Person, PersonAddress, PersonRole
from postroom.people.people import GOOD_FOR_SECONDS, HouseholdTrust
from postroom.people.person_rules import new_contact
from postroom.people.store.people import StoredPeople


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


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
    elsewhere = StoredPeople(database, IdMint().mint, ())
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


# Trust by address.

CHANNELS = {"telegram": Telegram("1:t", "http://127.0.0.1:1")}


@pytest.mark.parametrize(
    ("written", "asked", "trusted"),
    [
        pytest.param(" 1000 ", "1000", True, id="as the channel writes it"),
        pytest.param("@Ann_Home", "@ann_home", True, id="a user name in another case"),
        pytest.param("1000", "1001", False, id="another chat"),
        pytest.param(None, "None", False, id="no address at all"),
        pytest.param("", "", False, id="an empty address is nobody's"),
        pytest.param("@Kelvin", "@\u212aelvin", False, id="a letter that only looks like ours"),
    ],
)
async def test_an_address_is_compared_as_the_channel_writes_it(
    database: Database, written: str | None, asked: str, trusted: bool
) -> None:
    _, people = await household_people(database, owner(telegram=written))

    assert await HouseholdTrust(people, CHANNELS).is_trusted("telegram", asked) is trusted


async def test_only_people_marked_trusted_are_trusted_and_only_in_the_households_book(database: Database) -> None:
    said = [new_contact(name="Alice", telegram_chat_id=chat, trusted=chat == "1") for chat in "12"]
    stored, people = await household_people(database, owner(telegram="9"), *said)
    other = new_contact(name="Carl", telegram_chat_id="3", trusted=True)
    await stored.create("agent://user/x", other, source="api", now_us=1)
    trust = HouseholdTrust(people, CHANNELS)

    assert [await trust.is_trusted("telegram", one) for one in "1239"] == [True, False, False, True]
    assert not await trust.is_trusted("pigeon", "1")


async def test_trust_that_is_given_or_taken_counts_at_once(database: Database) -> None:
    stored, people = await household_people(database, owner(telegram="9"))
    trust = HouseholdTrust(people, CHANNELS)
    assert not await trust.is_trusted("telegram", "1")

    new = new_contact(name="Alice", telegram_chat_id="1", trusted=True)
    alice = await stored.create(HOUSEHOLD_OWNER, new, source="api", now_us=1)
    assert await trust.is_trusted("telegram", "1")
    await stored.delete(HOUSEHOLD_OWNER, alice.id)
    assert not await trust.is_trusted("telegram", "1")


async def test_trust_that_another_process_has_just_given_counts_before_anything_is_held(database: Database) -> None:
    _, people = await household_people(database, owner(telegram="9"))
    trust = HouseholdTrust(people, CHANNELS)
    assert not await trust.is_trusted("telegram", "1")

    elsewhere, _ = await household_people(database, owner(telegram="9"))
    await elsewhere.create(
        HOUSEHOLD_OWNER, new_contact(name="Alice", telegram_chat_id="1", trusted=True), source="import", now_us=1
    )

    assert await trust.is_trusted("telegram", "1")
