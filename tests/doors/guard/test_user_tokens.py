"""A household that starts names the users whose tokens decide nothing any more, once."""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs
from tests.app.living import living

from postroom.domain.principal import Principal, Role
from postroom.doors.guard.tokens import TokenFile


@pytest.mark.parametrize(
    ("approvers", "named"), [([], ["ann", "ci"]), (["ann"], ["ci"]), (["ann", "ci"], None)], ids=str
)
async def test_users_that_are_not_named_as_approvers_are_named_at_start(
    tmp_path: Path, approvers: list[str], named: list[str] | None
) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    for principal in (Principal(Role.USER, "ci"), Principal(Role.USER, "ann"), Principal(Role.PERSON, "ben")):
        tokens.create(principal)

    with capture_logs() as logs:
        async with living(tmp_path, {"approvals": {"approvers": approvers}}, only=("messenger", "sandbox")):
            pass

    told = [one["users"] for one in logs if one["event"] == "tokens.users_decide_nothing"]
    assert told == ([named] if named else [])
