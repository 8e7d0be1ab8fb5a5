"""Which typed words are a person's name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from postroom.domain.person import Person, PersonRole
from postroom.work.people.called import is_called

ANN = Person(
    id="p1",
    owner_agent="agent://household/owner",
    name="Łucja Martin",
    aliases=("Grandma", "Mum"),
    agent_address="agent://contact/p1",
    role=PersonRole.CONTACT,
    trusted=False,
    zone=None,
    language=None,
    addresses=(),
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
