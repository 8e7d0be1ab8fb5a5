"""Nobody looks into an inbox that is not their own."""

from __future__ import annotations

import pytest

from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.people.model import inbox_of, recipient

ADA = Principal(Role.USER, "ada")
CI = Principal(Role.PROGRAM, "ci", person="ada")


@pytest.mark.parametrize(
    ("caller", "expected"),
    [
        pytest.param(ADA, "ada", id="a person"),
        pytest.param(OPERATOR, "operator", id="the operator"),
        pytest.param(Principal(Role.USER, "operator"), None, id="a person called like the operator"),
        pytest.param(Principal(Role.PERSON, "ada"), "ada", id="a person's token"),
        pytest.param(Principal(Role.PERSON, "owner"), "operator", id="the owner"),
        pytest.param(Principal(Role.PERSON, "operator"), None, id="a person's token called like the operator"),
        pytest.param(CI, "ada", id="a program"),
        pytest.param(Principal(Role.PROGRAM, "ci", person="owner"), "operator", id="a program of the owner's"),
        pytest.param(Principal(Role.PROGRAM, "ci"), None, id="a program of no person's"),
        pytest.param(Principal(Role.BUTLER, "ada"), None, id="a butler"),
        pytest.param(Principal(Role.CONNECTOR, "ada"), None, id="a connector"),
    ],
)
def test_whose_inbox_a_caller_has(caller: Principal, expected: str | None) -> None:
    assert inbox_of(caller) == expected


@pytest.mark.parametrize(
    ("caller", "named", "expected"),
    [
        pytest.param(ADA, None, "ada", id="for oneself"),
        pytest.param(ADA, "ada", "ada", id="for oneself, by name"),
        pytest.param(ADA, "bob", None, id="for somebody else"),
        pytest.param(CI, None, "ada", id="a program for its person"),
        pytest.param(CI, "ada", "ada", id="a program for its person, by name"),
        pytest.param(CI, "bob", None, id="a program for somebody else"),
        pytest.param(CI, "ci", None, id="a program for itself"),
        pytest.param(Principal(Role.PROGRAM, "ci", person="owner"), "owner", "operator", id="a program for the owner"),
        pytest.param(OPERATOR, "bob", "bob", id="the operator for anybody"),
        pytest.param(OPERATOR, None, "operator", id="the operator"),
        pytest.param(Principal(Role.BUTLER, "health"), "bob", None, id="a butler"),
    ],
)
def test_for_whom_a_caller_may_leave_a_note(caller: Principal, named: str | None, expected: str | None) -> None:
    assert recipient(caller, named) == expected
