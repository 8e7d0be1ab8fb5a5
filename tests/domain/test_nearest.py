"""The nearest valid name, or none when nothing is near."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.domain.nearest import did_you_mean, nearest

NAMES = ["telegram", "email", "Maria"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("telegran", "telegram"),
        ("EMAIL", "email"),
        ("e-mail", "email"),
        ("mria", "Maria"),
        ("pigeon", None),
        ("", None),
    ],
)
def test_a_slip_is_understood_and_nonsense_is_not(word: str, meant: str | None) -> None:
    assert nearest(word, NAMES) == meant


def test_the_sentence_ends_either_way() -> None:
    assert did_you_mean("emial", NAMES) == ", did you mean 'email'?"
    assert did_you_mean("pigeon", NAMES) == "."


@given(st.text(), st.lists(st.text(min_size=1)))
def test_what_is_proposed_is_always_valid(word: str, known: list[str]) -> None:
    found = nearest(word, known)

    assert found is None or found in known
    if word and word in known:
        assert found is not None and found.lower() == word.lower()
