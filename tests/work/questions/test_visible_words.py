"""Words as a person sees them."""

from __future__ import annotations

import pytest

from postroom.work.questions.visible_words import visible


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ship", " ship "),
        ("Ship it", "ship\u00a0 it"),
        ("wait", "wa\u200bit\u2060"),
        ("é", "e\u0301"),
        ("❤", "❤\ufe0f"),
        ("abc", "\u202eabc\u202c"),
        ("STRASSE", "straße"),
    ],
)
def test_what_looks_the_same_is_the_same(one: str, other: str) -> None:
    assert visible(one) == visible(other)


@pytest.mark.parametrize(("one", "other"), [("e", "é"), ("a b", "ab"), ("x", "x\u0323"), ("ship", "shop")])
def test_what_looks_different_is_different(one: str, other: str) -> None:
    assert visible(one) != visible(other)


@pytest.mark.parametrize("text", ["", " \n", "\u200b", "\ufeff\u2066"])
def test_what_cannot_be_seen_is_nothing(text: str) -> None:
    assert visible(text) == ""
