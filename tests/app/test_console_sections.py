"""Whose desk it is: the console opens what waits for a decision to those who may decide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from postroom.app.console_sections import approvals_desk
from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.system.settings import Settings
from postroom.testing.held_files import HeldFiles

ANN, BOB = Principal(Role.USER, "ann"), Principal(Role.USER, "bob")
OWNER, CI = Principal(Role.PERSON, "owner"), Principal(Role.PROGRAM, "ann", person="owner")
BUTLER = Principal(Role.BUTLER, "ann")  # a name alone makes nobody a person


class Nothing:
    async def call(self, who: Principal, tool: str, arguments: object) -> dict[str, Any]:
        raise AssertionError("nobody asks while the pages are only put together")


@pytest.mark.parametrize(
    ("approvers", "allowed"),
    [([], {OPERATOR, OWNER}), (["ann"], {OPERATOR, OWNER, ANN})],
    ids=["none named", "ann named"],
)
def test_every_page_of_approvals_is_open_to_those_who_may_decide(
    tmp_path: Path, approvers: list[str], allowed: set[Principal]
) -> None:
    settings = Settings.model_validate({"home": tmp_path, "approvals": {"enabled": True, "approvers": approvers}})

    pages = approvals_desk(settings, Nothing(), None, approvers, HeldFiles()).section.pages

    assert len(pages) > 5
    for page in pages:
        assert {one for one in (OPERATOR, OWNER, ANN, BOB, CI, BUTLER) if page.open_to(one)} == allowed, page.path
