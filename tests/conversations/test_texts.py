"""Every text exists in every language, and asks for the same values."""

from __future__ import annotations

from dataclasses import fields
from string import Formatter

import pytest

from postroom.conversations.texts import ENGLISH, GERMAN, LANGUAGES, Texts, texts_for

pytestmark = pytest.mark.requirement("talk:commands")


def asked_for(text: str) -> set[str | None]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("name", [one.name for one in fields(Texts)])
@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_a_text_says_the_same_in_each_language(language: str, name: str) -> None:
    text = getattr(LANGUAGES[language], name)

    assert text.strip() and asked_for(text) == asked_for(getattr(ENGLISH, name))


@pytest.mark.parametrize(
    ("tag", "texts"), [(None, ENGLISH), ("de", GERMAN), ("de-AT", GERMAN), ("DE", GERMAN), ("fr", ENGLISH)]
)
def test_a_language_is_found_by_the_first_part_of_its_tag(tag: str | None, texts: Texts) -> None:
    assert texts_for(tag) is texts
