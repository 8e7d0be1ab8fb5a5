"""A source that does not answer is said to be away, and never taken for nothing."""

from __future__ import annotations

from postroom.approvals.page import ApprovalPages, OwnDecisions, RulePages, approvals_section
from postroom.console.live import ShownActions
from postroom.kernel.guard.tools import person
from postroom.kernel.values.errors import TargetUnavailable
from postroom.kernel.values.principal import Principal
from postroom.testing.case import HeldFiles
from tests.console.visiting import opened


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
