from __future__ import annotations

import random

import pytest
from tests.work.people.queries import NAMES, queries

from postroom.domain.contact_book import Entry
from postroom.work.people.book import Book
from postroom.work.people.normalise import keys_of


def entry(number: int, name: str) -> Entry:
    return Entry(str(number), name, name, keys_of(name))


@pytest.fixture(scope="module")
def crowd() -> list[str]:
    """More names than are compared one by one, so that the index chooses."""
    dice, syllables = random.Random(3), ["ka", "ri", "mo", "ten", "lu", "sa", "vi", "dor", "eth", "an", "bel", "gor"]
    made = {
        f"{''.join(dice.choices(syllables, k=2)).title()} {''.join(dice.choices(syllables, k=3)).title()}"
        for _ in range(6_000)
    }
    return [*NAMES, *sorted(made)]


def test_a_removed_name_is_not_found_any_more() -> None:
    book = Book([entry(1, "Bob"), entry(2, "Anna")])

    book.remove("1")

    assert [one.entry.alias for one in book.search(keys_of("Bob"))] == []
    assert book.ids == {"2"}


def test_a_large_book_finds_nearly_whom_a_small_one_finds(crowd: list[str]) -> None:
    book = Book(entry(place, name) for place, name in enumerate(crowd))
    asked = [query for query in queries() if query.how in ("one slip", "written differently", "exact")][::3]

    first = [(found[0].entry.alias if (found := book.search(keys_of(query.text))) else None) for query in asked]

    right = sum(name == query.meant for name, query in zip(first, asked, strict=True))
    assert right / len(asked) > 0.93


def test_a_large_book_finds_exact_names_always(crowd: list[str]) -> None:
    book = Book(entry(place, name) for place, name in enumerate(crowd))

    for name in crowd[:400:7]:
        assert book.search(keys_of(name))[0].entry.alias == name


def test_a_large_book_forgets_too(crowd: list[str]) -> None:
    book = Book(entry(place, name) for place, name in enumerate(crowd))
    book.remove("0")

    assert NAMES[0] not in [one.entry.alias for one in book.search(keys_of(NAMES[0]))]
