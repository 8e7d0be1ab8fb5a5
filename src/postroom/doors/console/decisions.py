"""Deciding in the process of the messenger: the work behind its tools, as the person who is signed in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.approval import ActionStatus
from postroom.domain.errors import ValidationError
from postroom.domain.fields import Fields
from postroom.domain.principal import Principal
from postroom.doors.console.ports import ShownActions
from postroom.system.roster.config import MESSENGER
from postroom.work.approvals.approvals import Approvals
from postroom.work.approvals.reason import read_reason
from postroom.work.approvals.rule_request import parse_rule_request, wanted_rule
from postroom.work.approvals.shapes import rule_shape, summary
from postroom.work.delivery.lineage import span

_LONGEST_ID: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnDecisions:
    """`may_decide` is the rule of the tools."""

    approvals: Approvals
    may_decide: Callable[[Principal], bool]

    async def page(self, who: Principal, *, status: str, cursor: str | None, limit: int) -> ShownActions:
        with self._acting(who, "list_pending_actions"):
            wanted = None if status == "all" else ActionStatus(status)
            before = None if cursor is None else _id("cursor", cursor)
            found = await self.approvals.page(wanted, before=before, limit=limit)
            more = found[-1].id if len(found) == limit else None
            return ShownActions(actions=[summary(one) for one in found], next_cursor=more)

    async def show(self, who: Principal, action_id: str) -> Mapping[str, Any]:
        with self._acting(who, "show_pending_action"):
            return await self.approvals.detail(_id("action_id", action_id))

    async def approve(
        self,
        who: Principal,
        action_id: str,
        *,
        content_hash: str,
        edits: Mapping[str, str] | None,
        create_rule: bool | dict[str, Any],
    ) -> Mapping[str, Any] | None:
        with self._acting(who, "approve_action"):
            _, rule = await self.approvals.approve(
                who,
                _id("action_id", action_id),
                seen_hash=content_hash,
                edits=edits,
                create_rule=wanted_rule(create_rule),
            )
            return rule_shape(rule, self.approvals.clock.now_us()) if rule else None

    async def reject(self, who: Principal, action_id: str, reason: str) -> None:
        with self._acting(who, "reject_action"):
            await self.approvals.reject(who, _id("action_id", action_id), read_reason(reason))

    async def rules(self, who: Principal) -> Sequence[Mapping[str, Any]]:
        with self._acting(who, "list_approval_rules"):
            now_us = self.approvals.clock.now_us()
            return [rule_shape(one, now_us) for one in await self.approvals.rules()]

    async def create_rule(self, who: Principal, asked: Mapping[str, Any]) -> None:
        with self._acting(who, "create_approval_rule"):
            await self.approvals.create_rule(who, parse_rule_request(asked))

    async def revoke_rule(self, who: Principal, rule_id: str) -> None:
        with self._acting(who, "revoke_approval_rule"):
            await self.approvals.revoke_rule(who, _id("rule_id", rule_id))

    @contextmanager
    def _acting(self, who: Principal, tool: str) -> Iterator[None]:
        """Under the rule of the tool, and in a trace as if it had been called."""
        if not self.may_decide(who):
            raise ValidationError(f"{who} may not call {tool}")
        with span(f"tools/call {tool}", {"postroom.part": MESSENGER}):
            yield


def _id(name: str, text: str) -> str:
    """Raises ValidationError for what no store could look for."""
    fields = Fields({name: text})
    checked = fields.text(name, maximum=_LONGEST_ID)
    fields.finish()
    return checked
