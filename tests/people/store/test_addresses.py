"""Pairings on SQLite and PostgreSQL alike: good once, not for long, and for one person."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

import pytest
from sqlalchemy import select
from tests.clock import START_US

from postroom.inbox.store.mail import StoredConfirmations, StoredPreferences
from postroom.kernel.database.engine import Database
from postroom.kernel.values.errors import Code, Refused
from postroom.kernel.values.ids import IdMint, seconds
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.people.model import (
    MOST_OPEN_PAIRINGS,
    MOST_WRONG_CODES,
    PAIRING_LIFE_SECONDS,
    CodeSent,
    NewPairing,
    NewPerson,
    Person,
    PersonAddress,
    Purpose,
)
from postroom.people.store.addresses import StoredPairings
from postroom.people.store.people import StoredPeople
from postroom.people.store.tables import email_confirmations

HOUR_US = seconds(PAIRING_LIFE_SECONDS)


@dataclass(frozen=True, slots=True)
class Desk:
    database: Database
    people: StoredPeople
    pairings: StoredPairings
    links: StoredConfirmations

    async def person(self, name: str, *addresses: PersonAddress) -> Person:
        new = NewPerson(name=name, addresses=addresses)
        return await self.people.create(HOUSEHOLD_OWNER, new, source="api", now_us=1)

    async def code(self, person: Person, code: str, now_us: int = START_US, channel: str = "telegram") -> NewPairing:
        new = NewPairing(id=code, person_id=person.id, channel=channel, digest=code, created_at_us=now_us)
        return await self.pairings.start(new)

    async def link(self, person: Person, pairing_id: str, address: str, now_us: int = START_US) -> NewPairing:
        new = NewPairing(id=pairing_id, person_id=person.id, channel="email", address=address, created_at_us=now_us)
        return await self.pairings.start(new)

    async def sends(
        self, *codes: str, sender: str = "2000", event: str = "e", now_us: int = START_US, channel: str = "telegram"
    ) -> str | None:
        sent = CodeSent(channel=channel, sender=sender, event_id=event, digests=codes)
        found = await self.pairings.redeem(sent, now_us)
        return found.name if found else None

    async def places(self, person: Person) -> list[tuple[str, str, int, bool]]:
        found = await self.people.get(HOUSEHOLD_OWNER, person.id)
        assert found is not None
        return [(one.channel, one.address, one.rank, one.verified_at_us is not None) for one in found.addresses]


@pytest.fixture
def desk(database: Database) -> Desk:
    people = StoredPeople(database, IdMint().mint, ())
    return Desk(database, people, StoredPairings(people), StoredConfirmations(database, people))


@pytest.mark.requirement("chan:pairing-code")
async def test_a_code_binds_its_sender_once(desk: Desk) -> None:
    anna = await desk.person("Anna")
    await desk.code(anna, "c1")

    assert await desk.sends("c1", event="e1") == "Anna"
    assert await desk.places(anna) == [("telegram", "2000", 1, True)]

    assert await desk.sends("c1", event="e1") == "Anna"  # the same message, read again after a crash
    assert await desk.sends("c1", event="e2") is None
    assert await desk.sends("c1", event="e3", sender="6666") is None
    assert await desk.places(anna) == [("telegram", "2000", 1, True)]


@pytest.mark.requirement("chan:pairing-code")
async def test_many_who_send_one_code_at_once_are_one(desk: Desk) -> None:
    anna = await desk.person("Anna")
    await desk.code(anna, "c1")

    found = await asyncio.gather(*(desk.sends("c1", sender=str(n + 1), event=str(n)) for n in range(5)))

    assert sorted(map(str, found)) == ["Anna", "None", "None", "None", "None"]
    assert len(await desk.places(anna)) == 1


@pytest.mark.requirement("chan:pairing-code")
async def test_a_code_ends_after_an_hour_and_is_for_one_channel(desk: Desk) -> None:
    anna = await desk.person("Anna")
    made = await desk.code(anna, "c1")

    assert made.expires_at_us == START_US + HOUR_US
    assert await desk.sends("c1", channel="slack") is None
    assert await desk.sends("c1", now_us=START_US + HOUR_US) is None
    assert await desk.sends("c1", now_us=START_US + HOUR_US - 1) == "Anna"


@pytest.mark.requirement("chan:pairing-code")
async def test_three_are_open_at_most_codes_and_links_together(desk: Desk) -> None:
    anna = await desk.person("Anna", PersonAddress(channel="email", address="anna@x.org"))
    bob = await desk.person("Bob")
    await desk.link(anna, "l1", "anna@x.org")
    for n in range(MOST_OPEN_PAIRINGS - 1):
        await desk.code(anna, f"c{n}")

    with pytest.raises(Refused, match="3 codes or links") as refused:
        await desk.code(anna, "one more")
    with pytest.raises(Refused):
        await desk.link(anna, "l2", "anna@x.org")
    assert refused.value.code is Code.ILLEGAL_TRANSITION
    await desk.code(bob, "another person's")

    await desk.sends("c0")
    await desk.code(anna, "in its place")
    await desk.code(anna, "later", START_US + HOUR_US)


async def test_many_started_at_once_are_not_too_many(desk: Desk) -> None:
    anna = await desk.person("Anna")

    made = await asyncio.gather(*(desk.code(anna, f"c{n}") for n in range(8)), return_exceptions=True)

    assert sum(isinstance(one, NewPairing) for one in made) == MOST_OPEN_PAIRINGS


async def test_the_same_id_is_the_same_pairing_and_never_another_persons(desk: Desk) -> None:
    anna, bob = await desk.person("Anna"), await desk.person("Bob")
    first = await desk.code(anna, "c1")

    assert await desk.code(anna, "c1", START_US + 5) == first
    with pytest.raises(Refused) as refused:
        await desk.code(bob, "c1")
    assert refused.value.code is Code.KEY_REUSED


@pytest.mark.requirement("chan:pairing-guesses")
async def test_after_ten_wrong_codes_no_code_helps_that_sender_for_an_hour(desk: Desk) -> None:
    anna = await desk.person("Anna")
    await desk.code(anna, "right")
    for n in range(MOST_WRONG_CODES - 2):
        assert await desk.sends(f"w{n}", sender="Mallory") is None
    assert await desk.sends("w8", "w9", sender="mallory") is None

    again = StoredPairings(desk.people)  # another process
    sent = CodeSent(channel="telegram", sender="mallory", event_id="e", digests=("right",))
    assert await again.redeem(sent, START_US) is None
    assert await again.redeem(sent, START_US + HOUR_US - 1) is None
    assert await desk.places(anna) == []

    assert await desk.sends("right", sender="2000") == "Anna"  # others are not hindered
    await desk.code(anna, "new", START_US + HOUR_US)
    assert await desk.sends("new", sender="mallory", now_us=START_US + HOUR_US) == "Anna"


@pytest.mark.requirement("chan:pairing-taken")
async def test_an_address_that_another_has_proved_is_not_taken_away(desk: Desk) -> None:
    proved = PersonAddress(channel="telegram", address="2000", verified_at_us=1)
    bob, anna = await desk.person("Bob", proved), await desk.person("Anna")
    await desk.code(anna, "c1")

    with pytest.raises(Refused):
        await desk.sends("c1")

    assert (await desk.places(anna), await desk.places(bob)) == ([], [("telegram", "2000", 1, True)])
    assert await desk.sends("c1", sender="3000") == "Anna"  # nothing changed, the code is still good


async def test_a_code_goes_with_its_person(desk: Desk) -> None:
    anna = await desk.person("Anna")
    await desk.code(anna, "c1")
    await desk.people.delete(HOUSEHOLD_OWNER, anna.id)

    assert await desk.sends("c1") is None


@pytest.mark.requirement("chan:pairing-link")
async def test_a_link_is_sent_once_and_proves_the_address_once(desk: Desk) -> None:
    anna = await desk.person("Anna", PersonAddress(channel="email", address="anna@x.org"))
    await desk.link(anna, "l1", "anna@x.org")

    (asked,) = await desk.links.take(now_us=START_US, lease_until_us=START_US + 1, copies=False)
    assert (asked.purpose, asked.channel, asked.address) == (Purpose.PAIRING, "email", "anna@x.org")
    assert await StoredPreferences(desk.database).awaits_confirmation("email", "anna@x.org")
    assert not await StoredPreferences(desk.database).awaits_confirmation("slack", "anna@x.org")
    claim = await desk.links.claim(asked.secret, START_US)
    assert claim is not None and claim.user_id == anna.id
    assert await desk.places(anna) == [("email", "anna@x.org", 1, False)]

    ends = await asyncio.gather(*(desk.links.confirm(asked.secret, START_US) for _ in range(3)))
    assert [one for one in ends if one] == [claim]
    assert await desk.places(anna) == [("email", "anna@x.org", 1, True)]


@pytest.mark.requirement("chan:pairing-link")
async def test_a_link_ends_after_an_hour_from_its_start_however_late_it_was_sent(desk: Desk) -> None:
    anna = await desk.person("Anna", PersonAddress(channel="email", address="anna@x.org"))
    await desk.link(anna, "l1", "anna@x.org")
    late_us = START_US + HOUR_US - 1

    (asked,) = await desk.links.take(now_us=late_us, lease_until_us=late_us)
    assert await desk.links.claim(asked.secret, late_us) is not None
    assert await desk.links.confirm(asked.secret, late_us + 1) is None
    assert await desk.links.take(now_us=late_us + 1, lease_until_us=late_us + 2) == []


async def test_a_link_to_an_address_that_is_gone_or_anothers_proves_nothing(desk: Desk) -> None:
    mail = PersonAddress(channel="email", address="anna@x.org")
    anna, bob = await desk.person("Anna", mail), await desk.person("Bob", mail)
    await desk.link(anna, "l1", "anna@x.org")
    (asked,) = await desk.links.take(now_us=START_US, lease_until_us=START_US + 1)

    proved = replace(mail, verified_at_us=2)
    await desk.people.change(
        HOUSEHOLD_OWNER, bob.id, lambda one: replace(one.as_written, addresses=(proved,)), now_us=2
    )
    assert await desk.links.confirm(asked.secret, START_US) is None
    assert await desk.places(anna) == [("email", "anna@x.org", 1, False)]

    await desk.people.change(HOUSEHOLD_OWNER, anna.id, lambda one: replace(one.as_written, addresses=()), now_us=2)
    assert await desk.links.claim(asked.secret, START_US) is None


async def test_the_secret_of_a_link_is_kept_nowhere(desk: Desk) -> None:
    anna = await desk.person("Anna", PersonAddress(channel="email", address="anna@x.org"))
    await desk.link(anna, "l1", "anna@x.org")
    (asked,) = await desk.links.take(now_us=START_US, lease_until_us=START_US + 1)

    rows = await desk.database.read(lambda connection: connection.execute(select(email_confirmations)).all())

    assert asked.secret not in repr(rows)
