"""Whose desk it is: the console opens what waits for a decision to those who may decide."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.household.wiring.console_pages import approvals_desk
from postroom.household.wiring.store import open_store
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.settings import Settings

ANN, BOB = Principal(Role.USER, "ann"), Principal(Role.USER, "bob")
OWNER, CI = Principal(Role.PERSON, "owner"), Principal(Role.PROGRAM, "ann", person="owner")
BUTLER = Principal(Role.BUTLER, "ann")  # a name alone makes nobody a person


@pytest.mark.parametrize(
    ("approvers", "allowed"),
    [([], {OPERATOR, OWNER}), (["ann"], {OPERATOR, OWNER, ANN})],
    ids=["none named", "ann named"],
)
async def test_every_page_of_approvals_is_open_to_those_who_may_decide(
    tmp_path: Path, approvers: list[str], allowed: set[Principal]
) -> None:
    settings = Settings.model_validate({"home": tmp_path, "approvals": {"enabled": True, "approvers": approvers}})

    async with open_store(settings) as store:
        pages = approvals_desk(settings, store, None, approvers, SystemClock(), IdMint()).section.pages

    assert len(pages) > 5
    for page in pages:
        assert {one for one in (OPERATOR, OWNER, ANN, BOB, CI, BUTLER) if page.open_to(one)} == allowed, page.path
