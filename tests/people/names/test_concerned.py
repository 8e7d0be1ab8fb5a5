"""Which addresses the words of a search stand for."""

from __future__ import annotations

import pytest
from tests.people.conftest import Shelf

from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.people.names.resolve import Concerned
from postroom.people.person_rules import new_contact


@pytest.fixture
async def concerned(shelf: Shelf) -> Concerned:
    await shelf.add("Łucja Martin", "Grandma", email="Lucja@Example.org", telegram="4711")
    return Concerned(book=shelf.contacts)


async def test_a_name_stands_for_all_addresses_of_its_person(concerned: Concerned) -> None:
    assert sorted(await concerned.places("lucja")) == ["email:lucja@example.org", "telegram:4711"]


async def test_words_inside_a_name_or_an_address_stand_for_nobody(concerned: Concerned) -> None:
    for words in ("art", "4711", "  "):
        assert await concerned.places(words) == [], words


async def test_a_name_of_very_many_people_stays_bounded(shelf: Shelf) -> None:
    everybody = [new_contact(name=f"Lucja {one}") for one in range(120)]
    await shelf.contacts.keep_in_step(HOUSEHOLD_OWNER, everybody, now_us=1)

    assert len(await Concerned(book=shelf.contacts).people("lucja")) == 20
