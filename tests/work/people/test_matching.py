from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.domain.contact import MatchType
from postroom.work.people.matching import match, similarity
from postroom.work.people.normalise import keys_of

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
