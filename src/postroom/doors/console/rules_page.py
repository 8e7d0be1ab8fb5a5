"""Standing rules: who may be written to without asking, since when, and until when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.domain.principal import Principal
from postroom.doors.console.approvals_page import ApprovalPages, called, refusal
from postroom.doors.console.ports import Tools
from postroom.doors.console.rule_form import CONSTRAINTS, rule_request
from postroom.doors.console.visit import Page, Section, Visit


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePages:
    tools: Tools
    is_on: bool
    channels: Sequence[str]

    async def show(self, visit: Visit) -> Response:
        return await self._page(visit, {}, "")

    async def make(self, visit: Visit) -> Response:
        asked = rule_request(visit.form, visit.now_us)
        if not asked["constraints"]:
            return await self._page(visit, dict(visit.form.fields), "Say at least who writes, to whom, or on what.")
        answer = await called(self.tools, visit.principal, "create_approval_rule", asked)
        if answer["status"] != "ok":
            return await self._page(visit, dict(visit.form.fields), refusal(answer))
        return visit.go("/approvals/rules", "The rule stands from now on.")

    async def revoke(self, visit: Visit) -> Response:
        answer = await called(self.tools, visit.principal, "revoke_approval_rule", {"rule_id": visit.path["id"][:64]})
        if answer["status"] != "ok":
            return visit.go("/approvals/rules", refusal(answer), "bad")
        return visit.go("/approvals/rules", "Revoked. What it let pass before stays sent.")

    async def _page(self, visit: Visit, typed: dict[str, str], complaint: str) -> Response:
        if not self.is_on:
            raise HTTPException(404)
        answer = await called(self.tools, visit.principal, "list_approval_rules", {})
        return visit.show(
            "rules.html",
            status=422 if complaint else 200,
            rules=answer["rules"] if answer["status"] == "ok" else None,
            typed=typed,
            complaint=complaint,
            channels=self.channels,
            constraint_names=CONSTRAINTS,
        )


def approvals_section(pages: ApprovalPages, rules: RulePages, may_decide: Callable[[Principal], bool]) -> Section:
    """
    Rules come first: the page of one action would swallow their path.

    Reading what waits is part of deciding on it, so both are for the same people.
    """
    return Section(
        name="Approvals",
        pages=(
            Page("/approvals", pages.show, open_to=may_decide),
            Page("/approvals/rules", rules.show, open_to=may_decide),
            Page("/approvals/rules", rules.make, "POST", open_to=may_decide),
            Page("/approvals/rules/{id}/revoke", rules.revoke, "POST", open_to=may_decide),
            Page("/approvals/{id}", pages.one, open_to=may_decide),
            Page("/approvals/{id}/compare", pages.compare, "POST", open_to=may_decide),
            Page("/approvals/{id}/approve", pages.approve, "POST", open_to=may_decide),
            Page("/approvals/{id}/reject", pages.reject, "POST", open_to=may_decide),
        ),
    )
