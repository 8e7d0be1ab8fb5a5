"""The settings file seeds people, and has no say any more in those the database changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, event
from tests.people.known_people import owner

from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import HOUSEHOLD_OWNER as BOOK
from postroom.people.model import NewPerson, Overruled, Person, PersonAddress, PersonRole, with_proof
from postroom.people.person_rules import new_contact
from postroom.people.store.people import StoredPeople

pytestmark = pytest.mark.requirement("house:file-until-changed")
ANN = new_contact(name="Ann", aliases=["Annie"], email="ann@x.org")


@pytest.fixture
def people(database: Database) -> StoredPeople:
    return StoredPeople(database, IdMint().mint, ())


async def started(people: StoredPeople, *file: NewPerson, now_us: int = 1) -> dict[str, Person]:
    """By name, after a start with this file."""
    await people.keep_in_step(BOOK, file, now_us=now_us)
    return {one.name: one for one in await people.page(BOOK, after=None, limit=50)}


async def test_the_file_wins_until_the_database_changes_a_person(people: StoredPeople) -> None:
    first = await started(people, ANN)
    again = await started(people, replace(ANN, trusted=True, aliases=("Anne",)), now_us=2)
    assert (again["Ann"].id, again["Ann"].trusted, again["Ann"].aliases) == (first["Ann"].id, True, ("Anne",))

    await people.change(BOOK, first["Ann"].id, lambda one: replace(one.as_written, zone="Europe/Rome"), now_us=3)
    third = await started(people, replace(ANN, trusted=False), now_us=4)
    assert (third["Ann"].trusted, third["Ann"].zone) == (True, "Europe/Rome")


async def test_a_start_with_the_same_file_writes_nothing(people: StoredPeople) -> None:
    file = owner("Olivia", "1000", "o@x.org"), ANN
    await started(people, *file)
    version = await people.version(BOOK)

    await started(people, *file, now_us=2)

    assert await people.version(BOOK) == version


async def test_a_person_who_was_removed_does_not_come_back(people: StoredPeople) -> None:
    ann = (await started(people, ANN))["Ann"]
    await people.delete(BOOK, ann.id)

    assert "Ann" not in await started(people, ANN, now_us=2)
    assert "Ann" not in await started(people, replace(ANN, trusted=True), now_us=3)
    assert await people.overruled(BOOK, [ANN]) == [Overruled(name="Ann", fields=("removed",))]


async def test_those_the_file_no_longer_names_go_unless_they_were_changed(people: StoredPeople) -> None:
    bob = new_contact(name="Bob", telegram_chat_id="2001")
    ids = {name: one.id for name, one in (await started(people, ANN, bob)).items()}
    await people.change(BOOK, ids["Bob"], lambda one: replace(one.as_written, trusted=True), now_us=2)

    left = await started(people, now_us=3)
    back = await started(people, ANN, bob, now_us=4)

    assert set(left) == {"Bob"}
    assert set(back) == {"Ann", "Bob"}
    assert (back["Bob"].id, back["Bob"].trusted) == (ids["Bob"], True)


async def test_that_an_address_was_proved_contradicts_no_file(people: StoredPeople) -> None:
    ann = (await started(people, ANN))["Ann"]
    proved = tuple(replace(one, verified_at_us=7) for one in ann.addresses)
    await people.change(BOOK, ann.id, lambda one: replace(one.as_written, addresses=proved), now_us=2)

    again = (await started(people, replace(ANN, trusted=True), now_us=3))["Ann"]

    assert again.trusted
    assert [one.verified_at_us for one in again.addresses] == [7]


async def test_what_the_database_overrules_is_named_field_by_field(people: StoredPeople) -> None:
    file = owner("Olivia", "1000", "o@x.org"), replace(ANN, trusted=True)
    ids = {name: one.id for name, one in (await started(people, *file)).items()}
    assert await people.overruled(BOOK, file) == []

    def moved(one: Person) -> NewPerson:
        return replace(one.as_written, addresses=(PersonAddress(channel="slack", address="U1"),))

    await people.change(BOOK, "owner", moved, now_us=2)
    await people.change(BOOK, ids["Ann"], lambda one: replace(one.as_written, name="Anna", trusted=False), now_us=2)

    assert await people.overruled(BOOK, file) == [
        Overruled(name="Olivia", fields=("telegram", "email")),
        Overruled(name="Ann", fields=("name", "trusted")),
    ]


async def test_a_person_whose_agent_address_another_has_is_left_out_and_named(people: StoredPeople) -> None:
    await people.create(BOOK, new_contact(name="Bob", agent="agent://home/bob"), source="api", now_us=1)
    file = new_contact(name="Robert", agent="agent://home/bob")

    assert set(await started(people, file)) == {"Bob"}
    assert await people.overruled(BOOK, [file]) == [Overruled(name="Robert", fields=("agent",))]


async def test_an_agent_address_moves_with_a_name_that_changes_in_the_file(people: StoredPeople) -> None:
    await started(people, new_contact(name="Bob", agent="agent://home/bob"))

    renamed = await started(people, new_contact(name="Robert", agent="agent://home/bob"), now_us=2)

    assert {name: one.agent_address for name, one in renamed.items()} == {"Robert": "agent://home/bob"}


@pytest.mark.requirement("house:one-owner")
async def test_the_owner_of_the_file_is_one_person_with_proved_addresses(people: StoredPeople) -> None:
    first = await started(people, owner("", "1000"))
    second = await started(people, owner("Olivia", "1001", "O@x.org"), now_us=2)

    assert [(one.id, one.role, one.agent_address) for one in first.values()] == [("owner", PersonRole.OWNER, BOOK)]
    assert [one.name for one in first.values()] == ["Owner"]
    olivia = second["Olivia"]
    assert {one.channel: one.address for one in olivia.addresses} == {"telegram": "1001", "email": "O@x.org"}
    assert all(one.verified_at_us for one in olivia.addresses)


async def test_the_operator_vouches_for_the_owners_address_even_if_another_had_proved_it(people: StoredPeople) -> None:
    mine = PersonAddress(channel="email", address="home@x.org", verified_at_us=5)
    eve = await people.create(BOOK, NewPerson(name="Eve", addresses=(mine,)), source="api", now_us=1)

    await started(people, owner("Olivia", None, "Home@x.org"))

    found = {one.id: one.addresses[0].verified_at_us for one in await people.at(BOOK, "email", "HOME@x.org")}
    assert found == {eve.id: None, "owner": 1}


async def statements(people: StoredPeople, *file: NewPerson, now_us: int) -> int:
    """How many a start with this file takes."""
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        seen.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        await people.keep_in_step(BOOK, file, now_us=now_us)
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    return len(seen)


def contacts(first: int, last: int) -> list[NewPerson]:
    return [
        new_contact(name=f"Contact {n}", aliases=[f"C{n}"], agent=f"agent://c{n}", email=f"c{n}@x.org")
        for n in range(first, last)
    ]


async def test_hundreds_of_people_who_are_new_or_changed_or_gone_take_no_more_statements_than_two(
    people: StoredPeople,
) -> None:
    async def lived(first: int, last: int) -> list[int]:
        new = contacts(first, last)
        changed = [replace(one, aliases=("Other",), trusted=True) for one in new]
        files: list[list[NewPerson]] = [new, changed, []]
        return [await statements(people, *file, now_us=place) for place, file in enumerate(files)]

    few, many = await lived(0, 2), await lived(10, 310)

    assert all(one <= other for one, other in zip(many, few, strict=True)), (many, few)
    assert await people.page(BOOK, after=None, limit=50) == []


async def test_of_two_new_people_with_one_agent_address_the_first_has_it(people: StoredPeople) -> None:
    found = await started(people, ANN, *(new_contact(name=name, agent="agent://x", email=None) for name in ("B", "C")))

    assert set(found) == {"Ann", "B"}


async def test_an_agent_address_that_one_gives_up_goes_to_another_in_the_same_file(people: StoredPeople) -> None:
    b, c = (new_contact(name=name, agent=f"agent://{name.lower()}", email=None) for name in ("B", "C"))
    await started(people, b, c)

    found = await started(
        people, replace(b, agent_address="agent://z"), replace(c, agent_address="agent://b"), now_us=2
    )

    assert {one.name: one.agent_address for one in found.values()} == {"B": "agent://z", "C": "agent://b"}


async def test_an_address_that_was_proved_and_that_the_file_now_vouches_for_the_owner_is_the_owners(
    people: StoredPeople,
) -> None:
    """Even where both have changed in the file at once."""
    first = await started(people, owner("Olivia", "1000", "o@x.org"), ANN)
    await people.change(BOOK, first["Ann"].id, lambda one: with_proof(one, "email", "ann@x.org", 2), now_us=2)

    found = await started(people, owner("Olivia", "1000", "ann@x.org"), replace(ANN, trusted=True), now_us=3)

    proved = {
        one.name
        for one in found.values()
        for place in one.addresses
        if place.address == "ann@x.org" and place.verified_at_us
    }
    assert proved == {"Olivia"}
