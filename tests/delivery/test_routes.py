"""For whom a message is that a script sends."""

from __future__ import annotations

import pytest

from postroom.delivery.routes import recipient_of
from postroom.kernel.values.principal import OPERATOR, Principal, Role

HEALTH, CI = Principal(Role.BUTLER, "health"), Principal(Role.PROGRAM, "ci", person="owner")


@pytest.mark.parametrize(
    ("caller", "to", "recipient"),
    [
        (HEALTH, None, None),
        (HEALTH, "Bob", "Bob"),
        (CI, None, None),
        (CI, "Owner", None),
        (Principal(Role.PROGRAM, "ci", person="ada"), None, "ada"),
        (Principal(Role.PROGRAM, "ci", person="ada"), "Bob", "Bob"),
        (Principal(Role.PROGRAM, "ci"), None, None),
        (OPERATOR, None, None),
    ],
)
def test_a_program_writes_to_its_own_person_and_others_to_the_owner(
    caller: Principal, to: str | None, recipient: str | None
) -> None:
    assert recipient_of(caller, to) == recipient
