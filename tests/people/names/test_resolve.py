from __future__ import annotations

import random
from collections import Counter

import pytest
from tests.people.queries import AMBIGUOUS, NAMES, NEAR_MISSES, UNKNOWN, queries

from postroom.people.model import DecisionMode, Entry, InputMode, MatchType
from postroom.people.names.matching import Book
from postroom.people.names.normalise import keys_of
from postroom.people.names.resolve import MatchVerdict, decide


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


def book_of(*names: str) -> Book:
    return Book(Entry(str(place), name, name, keys_of(name)) for place, name in enumerate(names))


def asked(book: Book, query: str, input_mode: InputMode = InputMode.TEXT) -> MatchVerdict:
    return decide(book.search(keys_of(query)), query, input_mode)


@pytest.fixture(scope="module")
def world() -> Book:
    return book_of(*NAMES)


def test_nobody_is_written_to_in_place_of_somebody_with_almost_the_same_name(world: Book) -> None:
    certain = {name: asked(world, name) for name in (*NEAR_MISSES, *UNKNOWN)}

    assert [name for name, verdict in certain.items() if verdict.mode is DecisionMode.RESOLVED] == []


@pytest.mark.requirement("intent:chatgpt-fuzzy-alias-matching", "intent:gemini-fuzzy-alias-matching")
def test_the_right_person_is_suggested_for_almost_every_way_of_writing_a_name(world: Book) -> None:
    outcome: Counter[str] = Counter()
    for query in queries():
        verdict = asked(world, query.text)
        shown = [one.entry.alias for one in verdict.found]
        outcome["right" if query.meant in shown else "wrong" if shown else "missed"] += 1
        if verdict.mode is DecisionMode.RESOLVED:
            assert shown == [query.meant], query
    assert outcome["right"] / outcome.total() >= 0.95
    assert outcome["wrong"] / outcome.total() < 0.01


@pytest.mark.requirement("intent:decision-needs-disambiguation")
def test_a_name_that_several_people_share_is_put_to_the_person(world: Book) -> None:
    modes = Counter(asked(world, str(one["query"])).mode for one in AMBIGUOUS)

    assert modes[DecisionMode.NEEDS_DISAMBIGUATION] >= 6
    assert modes[DecisionMode.RESOLVED] == 0


@pytest.mark.parametrize("name", ["Bo", "李", "李明", "金", "Øy", "ا"])
def test_names_of_one_or_two_characters_are_found(name: str) -> None:
    book = book_of(name, "Robert Johnson", "李娜", "Bob")

    verdict = asked(book, name)

    assert (verdict.mode, verdict.found[0].entry.alias) == (DecisionMode.RESOLVED, name)


def test_two_aliases_of_one_person_are_one_candidate() -> None:
    book = Book([Entry("1", "a", "Bobby", keys_of("Bobby")), Entry("2", "a", "Bob", keys_of("Bob"))])

    verdict = asked(book, "Bob")

    assert [one.entry.alias for one in verdict.found] == ["Bob"]


def test_a_short_name_that_was_heard_is_confirmed() -> None:
    book = book_of("Bob", "Robert Johnson")

    assert asked(book, "Bob", InputMode.VOICE).mode is DecisionMode.NEEDS_CONFIRMATION
    assert asked(book, "Robert Johnson", InputMode.VOICE).mode is DecisionMode.RESOLVED


@pytest.mark.requirement("intent:decision-contact-not-found")
def test_a_name_like_no_other_is_not_found(world: Book) -> None:
    verdict = asked(world, "Zaphod Beeblebrox")

    assert (verdict.mode, verdict.found) == (DecisionMode.CONTACT_NOT_FOUND, ())


@pytest.mark.requirement("intent:decision-needs-confirmation")
def test_one_likely_name_is_put_to_the_person(world: Book) -> None:
    verdict = asked(world, "Catherin Milller")

    assert verdict.mode is DecisionMode.NEEDS_CONFIRMATION
    assert verdict.found[0].match.match_type in (MatchType.FUZZY, MatchType.SMART_FUZZY)
