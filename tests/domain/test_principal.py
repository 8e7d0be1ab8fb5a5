from __future__ import annotations

import pytest

from postroom.domain.principal import OPERATOR, Principal, Role


@pytest.mark.parametrize(
    ("caller", "is_person", "is_owner"),
    [
        (OPERATOR, True, True),
        (Principal(Role.PERSON, "owner"), True, True),
        (Principal(Role.PERSON, "ann"), True, False),
        (Principal(Role.USER, "owner"), True, False),
        (Principal(Role.PROGRAM, "owner", person="owner"), False, False),
        (Principal(Role.BUTLER, "owner"), False, False),
        (Principal(Role.CONNECTOR, "owner"), False, False),
    ],
    ids=str,
)
def test_only_tokens_made_for_people_are_people(caller: Principal, is_person: bool, is_owner: bool) -> None:
    assert (caller.is_person, caller.is_owner) == (is_person, is_owner)
