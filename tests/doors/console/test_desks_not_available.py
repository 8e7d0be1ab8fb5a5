"""A source that does not answer is said to be away, and never taken for nothing."""

from __future__ import annotations

from tests.doors.console.visiting import opened

from postroom.domain.errors import TargetUnavailable
from postroom.domain.principal import Principal
from postroom.doors.console.approvals_page import ApprovalPages
from postroom.doors.console.decisions import OwnDecisions
from postroom.doors.console.ports import ShownActions
from postroom.doors.console.rules_page import RulePages, approvals_section
from postroom.doors.guard.tool_policy import person
from postroom.testing.held_files import HeldFiles


class AwayDecisions(OwnDecisions):
    async def page(self, who: Principal, *, status: str, cursor: str | None, limit: int) -> ShownActions:
        raise TargetUnavailable("the store cannot be reached")


AWAY = AwayDecisions(approvals=None, may_decide=person)  # type: ignore[arg-type]  # it is away


async def test_approvals_that_are_away_are_not_nothing() -> None:
    pages = ApprovalPages(decisions=AWAY, is_on=True, letters=(), files=HeldFiles())
    shown = await opened(approvals_section(pages, RulePages(standing=AWAY, is_on=True, channels=["email"]), person))

    assert "This source is not available just now." in shown
    assert "Nothing waits for you" not in shown


async def test_approvals_that_are_off_say_so() -> None:
    pages = ApprovalPages(decisions=AWAY, is_on=False, letters=(), files=HeldFiles())
    shown = await opened(approvals_section(pages, RulePages(standing=AWAY, is_on=False, channels=["email"]), person))

    assert "Approvals are off" in shown
