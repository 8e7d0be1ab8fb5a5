"""People by how a name begins and by role, on SQLite and PostgreSQL alike."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.opened_database import KINDS, opened_database

from postroom.domain.agent_address import HOUSEHOLD_OWNER as OWNER
from postroom.domain.ids import IdMint
from postroom.domain.person import NewPerson, PersonAddress, PersonRole
from postroom.work.people.normalise import keys_of
from postroom.world.store.people.people import StoredPeople
from postroom.world.store.people.people_search import StoredPeopleSearch

MAIL = PersonAddress(channel="email", address="anna@example.org")
FAX = PersonAddress(channel="fax", address="1")
PEOPLE = [
    NewPerson(name="Anna Kovács", aliases=("Annie",), addresses=(MAIL, FAX)),
    NewPerson(name="Анна Петрова", role=PersonRole.MEMBER),
    NewPerson(name="Joanna", role=PersonRole.APPROVER),
    NewPerson(name="100% sure"),
]


@pytest.fixture(params=KINDS)
async def search(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[StoredPeopleSearch]:
    async with opened_database(request.param, tmp_path, request) as database:
        book = StoredPeople(database, IdMint().mint, keys_of)
        for one in PEOPLE:
            await book.create(OWNER, one, source="api", now_us=1)
        await book.create("agent://user/eve", NewPerson(name="Anna of Eve", addresses=(FAX,)), source="api", now_us=1)
        yield StoredPeopleSearch(database, keys_of)


async def names(search: StoredPeopleSearch, begins: str | None, role: PersonRole | None = None) -> list[str]:
    return [one.name for one in await search.listed(OWNER, begins=begins, role=role, after=None, limit=50)]


@pytest.mark.parametrize(
    ("begins", "found"),
    [
        pytest.param("anna", ["Anna Kovács", "Анна Петрова"], id="in any script, and not inside a name"),
        pytest.param("ANNA KOVACS", ["Anna Kovács"], id="the whole name"),
        pytest.param("anni", ["Anna Kovács"], id="an alias"),
        pytest.param("%", [], id="a wildcard is only a sign"),
        pytest.param("1", ["100% sure"], id="a digit"),
        pytest.param("", [one.name for one in PEOPLE], id="nothing"),
    ],
)
async def test_a_name_is_found_by_how_it_begins(search: StoredPeopleSearch, begins: str, found: list[str]) -> None:
    assert await names(search, begins) == found


async def test_a_role_narrows_the_list(search: StoredPeopleSearch) -> None:
    assert await names(search, None, PersonRole.APPROVER) == ["Joanna"]
    assert await names(search, "anna", PersonRole.MEMBER) == ["Анна Петрова"]


async def test_pages_follow_each_other_without_gap(search: StoredPeopleSearch) -> None:
    first = await search.listed(OWNER, begins=None, role=None, after=None, limit=3)
    rest = await search.listed(OWNER, begins=None, role=None, after=first[-1].id, limit=3)

    assert [one.name for one in (*first, *rest)] == [one.name for one in PEOPLE]


async def test_channels_that_lead_nowhere_are_found_in_the_book_alone(search: StoredPeopleSearch) -> None:
    assert await search.unreachable(OWNER, ["email", "telegram"], 10) == [("Anna Kovács", "fax")]
    assert await search.unreachable(OWNER, ["email", "fax"], 10) == []
