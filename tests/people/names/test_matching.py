"""Which typed words are a person's name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.people.model import MatchType, Person
from postroom.people.names.matching import match, similarity
from postroom.people.names.normalise import keys_of
from postroom.people.names.resolve import is_called

ANN = Person(
    id="p1",
    owner_agent="agent://household/owner",
    name="Łucja Martin",
    aliases=("Grandma", "Mum"),
    agent_address="agent://contact/p1",
    source="api",
    created_at_us=1,
    updated_at_us=1,
)


@pytest.mark.parametrize(
    ("words", "called"),
    [
        ("Łucja Martin", True),
        ("lucja", True),
        ("MART", True),
        ("grandma", True),
        ("mu", True),
        ("art", False),
        ("Lucja Weiss", False),
        ("%", False),
        ("", False),
    ],
)
def test_a_name_is_found_by_the_beginning_of_its_words(words: str, called: bool) -> None:
    assert is_called(ANN, words) is called


def test_a_name_is_found_in_other_letters() -> None:
    assert is_called(replace(ANN, name="Иван Петров"), "ivan")


NAMES = st.text(st.characters(categories=["Ll", "Lu", "Lo"]), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("query", "alias", "kind", "at_least"),
    [
        pytest.param("Bob", "Bob", MatchType.EXACT, 1.0, id="same"),
        pytest.param("bob", "BOB", MatchType.EXACT, 1.0, id="case"),
        pytest.param("Jose Garcia", "José García", MatchType.EXACT, 0.99, id="accents"),
        pytest.param("Miller Bob", "Bob Miller", MatchType.EXACT, 0.98, id="order"),
        pytest.param("Robert Johmson", "Robert Johnson", MatchType.FUZZY, 0.9, id="slip"),
        pytest.param("Marta Rossi", "Maria Rossi", MatchType.FUZZY, 0.8, id="another person"),
        pytest.param("Robert", "Robert Johnson", MatchType.SMART_FUZZY, 0.9, id="part"),
        pytest.param("Ivan Petrov", "Иван Петров", MatchType.SMART_FUZZY, 0.95, id="script"),
        pytest.param("Kassem Leila", "ليلى قاسم", MatchType.SMART_FUZZY, 0.66, id="vowels not written"),
    ],
)
@pytest.mark.requirement("intent:match-types")
def test_the_kind_of_likeness_is_told(query: str, alias: str, kind: MatchType, at_least: float) -> None:
    found = match(keys_of(query), keys_of(alias))

    assert found.match_type is kind
    assert found.score >= at_least
    assert found.why


def test_two_letters_alike_are_not_a_name_alike() -> None:
    assert match(keys_of("Bo"), keys_of("Jo")).score < 0.66


@given(NAMES, NAMES)
def test_a_score_is_between_nothing_and_the_same(one: str, other: str) -> None:
    found = match(keys_of(one), keys_of(other))

    assert 0.0 <= found.score <= 1.0
    if found.score == 1.0:
        assert found.match_type is MatchType.EXACT or similarity(keys_of(one).folded, keys_of(other).folded)[0] == 1.0


@given(NAMES)
def test_every_name_is_exactly_itself(name: str) -> None:
    assert match(keys_of(name), keys_of(name)).match_type is MatchType.EXACT
