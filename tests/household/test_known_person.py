"""Whom a token is made for, on a database that no household has worked on yet."""

from __future__ import annotations

from pathlib import Path

from postroom.household.wiring.people import KnownPerson, id_of, known_person, opened_people
from postroom.people.model import SIGN_IN, PersonDraft
from postroom.settings import Settings


async def test_a_contact_of_the_settings_file_is_known_before_the_first_start(home: Path) -> None:
    settings = Settings.model_validate({"home": home, "contacts": [{"name": "Bob Miller", "aliases": ["Bob"]}]})

    found = await known_person(settings, "bob")
    again = await known_person(settings, found.id)

    assert not found.is_new and again == found
    assert await id_of(settings, "Bob Miller") == found.id


async def test_one_who_is_new_is_found_by_the_id_afterwards(home: Path) -> None:
    settings = Settings(home=home)

    assert await id_of(settings, "ada") is None
    assert await known_person(settings, "ada") == KnownPerson(id="ada", is_new=True)
    assert await known_person(settings, "ada") == KnownPerson(id="ada", is_new=False)


async def test_one_more_person_takes_no_role_away(home: Path) -> None:
    settings = Settings(home=home)
    await known_person(settings, "ada")
    async with opened_people(settings) as people:
        await people.change("ada", role="approver")

    await known_person(settings, "bob")

    async with opened_people(settings) as people:
        assert ((await people.get("ada")).role, (await people.get("bob")).role) == ("approver", "member")
        assert (await people.get("bob")).source == SIGN_IN


async def test_opening_the_people_again_takes_nothing_away(home: Path) -> None:
    settings = Settings.model_validate({"home": home, "contacts": [{"name": "Bob"}]})
    async with opened_people(settings) as people:
        await people.create(PersonDraft(name="Eve"), source="test")

    async with opened_people(Settings(home=home)) as people:  # without the file, which another machine may have
        found = [await people.called(name) for name in ("Bob", "Eve", "owner")]

    assert [len(one) for one in found] == [1, 1, 1]
