"""Nobody looks into an inbox that is not their own."""

from __future__ import annotations

import pytest

from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.inbox.owner import inbox_of, recipient

ADA = Principal(Role.USER, "ada")


@pytest.mark.parametrize(
    ("caller", "expected"),
    [
        pytest.param(ADA, "ada", id="a person"),
        pytest.param(OPERATOR, "operator", id="the operator"),
        pytest.param(Principal(Role.USER, "operator"), None, id="a person called like the operator"),
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
        pytest.param(OPERATOR, "bob", "bob", id="the operator for anybody"),
        pytest.param(OPERATOR, None, "operator", id="the operator"),
        pytest.param(Principal(Role.BUTLER, "health"), "bob", None, id="a butler"),
    ],
)
def test_for_whom_a_caller_may_leave_a_note(caller: Principal, named: str | None, expected: str | None) -> None:
    assert recipient(caller, named) == expected
