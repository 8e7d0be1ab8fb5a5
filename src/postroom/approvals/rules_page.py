"""Standing rules: who may be written to without asking, since when, and until when."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.approvals.page import CONSTRAINTS, ApprovalPages, refusal, rule_request
from postroom.console.frame import Names, NavigationGroup, Place, ShownPerson, actors
from postroom.console.live import StandingRules
from postroom.console.visit import ConsolePage, ConsoleSection, Visit
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePages:
    standing: StandingRules
    is_on: bool
    channels: Sequence[str]

    async def show(self, visit: Visit) -> Response:
        return await self._page(visit, {}, "")

    async def make(self, visit: Visit) -> Response:
        asked = rule_request(visit.form, visit.now_us)
        if not asked["constraints"]:
            return await self._page(visit, dict(visit.form.fields), "Say at least who writes, to whom, or on what.")
        self._must_be_on()
        try:
            await self.standing.create_rule(visit.principal, asked)
        except PostroomError as error:
            return await self._page(visit, dict(visit.form.fields), refusal(error))
        return visit.go("/approvals/rules", "The rule stands from now on.")

    async def revoke(self, visit: Visit) -> Response:
        self._must_be_on()
        try:
            await self.standing.revoke_rule(visit.principal, visit.path["id"][:64])
        except PostroomError as error:
            return visit.go("/approvals/rules", refusal(error), "bad")
        return visit.go("/approvals/rules", "Revoked. What it let pass before stays sent.")

    async def _page(self, visit: Visit, typed: dict[str, str], complaint: str) -> Response:
        self._must_be_on()
        rules = await self._listed(visit.principal)
        made = [by for rule in rules or () for by in (rule["created_by"], rule.get("revoked_by"))]
        names = await visit.names((place for rule in rules or () for place in self._places(rule)), actors(*made))
        return visit.show(
            "rules.html",
            status=422 if complaint else 200,
            rules=rules,
            names=names,
            allowed={rule["rule_id"]: self._allowed(rule, names) for rule in rules or ()},
            typed=typed,
            complaint=complaint,
            channels=self.channels,
            constraint_names=CONSTRAINTS,
        )

    def _places(self, rule: Mapping[str, Any]) -> Sequence[Place]:
        """Where the recipient of a rule may be; a rule that names no channel counts on all of them."""
        whom, where = rule["constraints"].get("recipient"), rule["constraints"].get("channel")
        if whom is None or whom["type"] != "exact":
            return []
        channels = [where["value"]] if where is not None and where["type"] == "exact" else self.channels
        return [(channel, whom["value"]) for channel in channels]

    def _allowed(self, rule: Mapping[str, Any], names: Names) -> ShownPerson | None:
        found = (names.at(*place) for place in self._places(rule))
        return next((one for one in found if one.name), None)

    async def _listed(self, who: Principal) -> Sequence[Mapping[str, Any]] | None:
        try:
            return await self.standing.rules(who)
        except PostroomError:
            return None

    def _must_be_on(self) -> None:
        if not self.is_on:
            raise HTTPException(404)


def approvals_section(
    pages: ApprovalPages, rules: RulePages, may_decide: Callable[[Principal], bool]
) -> ConsoleSection:
    """
    Rules come first: the page of one action would swallow their path.

    Reading what waits is part of deciding on it, so both are for the same people.
    """
    return ConsoleSection(
        name="Approvals",
        group=NavigationGroup.YOURS,
        pages=(
            ConsolePage("/approvals", pages.show, open_to=may_decide),
            ConsolePage("/approvals/rules", rules.show, open_to=may_decide),
            ConsolePage("/approvals/rules", rules.make, "POST", open_to=may_decide),
            ConsolePage("/approvals/rules/{id}/revoke", rules.revoke, "POST", open_to=may_decide),
            ConsolePage("/approvals/{id}", pages.one, open_to=may_decide),
            ConsolePage("/approvals/{id}/files/{number}", pages.file, open_to=may_decide),
            ConsolePage("/approvals/{id}/compare", pages.compare, "POST", open_to=may_decide),
            ConsolePage("/approvals/{id}/approve", pages.approve, "POST", open_to=may_decide),
            ConsolePage("/approvals/{id}/reject", pages.reject, "POST", open_to=may_decide),
        ),
    )
