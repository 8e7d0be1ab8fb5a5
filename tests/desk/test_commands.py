"""`postroom desk` finds the household on its machine."""

from __future__ import annotations

from pathlib import Path

from postroom.desk.commands import _owners_token
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import OPERATOR, OWNER, Principal, Role
from postroom.settings import Settings


def test_the_owners_own_token_is_used_and_no_other_one(home: Path) -> None:
    settings = Settings(home=home)
    file = TokenFile(settings.tokens_file)
    assert _owners_token(settings) is None
    file.ensure([OPERATOR, Principal(Role.BUTLER, "health")])
    file.create(Principal(Role.PERSON, "anna"))
    assert _owners_token(settings) is None
    token = file.create(Principal(Role.PERSON, OWNER))
    assert _owners_token(settings) == token


def test_a_file_that_cannot_be_read_leaves_the_desk_alone(home: Path) -> None:
    settings = Settings(home=home)
    settings.tokens_file.write_text("{")

    assert _owners_token(settings) is None
