"""A contact book by name and by words, on SQLite and PostgreSQL alike."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.opened_database import KINDS, opened_database

from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import HOUSEHOLD_OWNER as OWNER
from postroom.people.person_rules import new_contact
from postroom.people.store.people import StoredPeople

PEOPLE = [
    new_contact(name="Łukasz Żak", aliases=["Luke"], telegram_chat_id="4711"),
    new_contact(name="Иван Петров", email="ivan@example.org"),
    new_contact(name="anna-maria", agent="agent://home/anna"),
    new_contact(name="Percent 100% sure"),
]


@pytest.fixture(params=KINDS)
async def book(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[StoredPeople]:
    async with opened_database(request.param, tmp_path, request) as database:
        book = StoredPeople(database, IdMint().mint, ())
        for one in PEOPLE:
            await book.create(OWNER, one, source="api", now_us=1)
        await book.create("agent://user/eve", new_contact(name="Luke of Eve"), source="api", now_us=1)
        yield book


async def names(book: StoredPeople, words: str) -> list[str]:
    return [one.name for one in await book.search(OWNER, words, after=None, limit=50)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        pytest.param("uka", ["Łukasz Żak"], id="inside a name"),
        pytest.param("LUKE", ["Łukasz Żak"], id="an alias, and nobody else's"),
        pytest.param("zak", ["Łukasz Żak"], id="without marks"),
        pytest.param("ivan p", ["Иван Петров"], id="in other letters"),
        pytest.param("ivan@EXAMPLE", ["Иван Петров"], id="an e-mail address"),
        pytest.param("4711", ["Łukasz Żak"], id="a chat"),
        pytest.param("home/anna", ["anna-maria"], id="an agent"),
        pytest.param("%", [], id="a wildcard is only a sign"),
        pytest.param("nobody", [], id="nobody"),
    ],
)
async def test_words_are_looked_for(book: StoredPeople, words: str, found: list[str]) -> None:
    assert await names(book, words) == found


async def test_without_words_everybody_comes_once_page_by_page(book: StoredPeople) -> None:
    everybody, after, seen = await names(book, " "), None, list[str]()

    for _ in range(3):
        page = await book.search(OWNER, "", after=after, limit=2)
        seen += [one.name for one in page]
        after = page[-1].id if page else after

    assert seen == everybody
    assert sorted(seen) == sorted(one.name for one in PEOPLE)


async def test_a_place_that_is_gone_begins_again(book: StoredPeople) -> None:
    assert len(await book.search(OWNER, "", after="gone", limit=50)) == len(PEOPLE)
