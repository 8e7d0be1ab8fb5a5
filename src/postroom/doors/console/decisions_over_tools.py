"""Deciding while the messenger runs in another process: its tools, under the token of the person who is signed in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.errors import InternalError
from postroom.domain.notify_response import read_response
from postroom.domain.principal import Principal
from postroom.doors.console.ports import ShownActions, Tools

_PATIENCE_SECONDS: Final = 30.0
_GLANCE_SECONDS: Final = 3.0  # a messenger that is away must not hold up what the page shows without it


@dataclass(frozen=True, slots=True)
class DecisionsOverTools:
    tools: Tools

    async def page(self, who: Principal, *, status: str, cursor: str | None, limit: int) -> ShownActions:
        asked = {"status": status, "limit": limit} | ({"cursor": cursor} if cursor else {})
        answer = await self._call(who, "list_pending_actions", asked, _GLANCE_SECONDS)
        return ShownActions(actions=answer["actions"], next_cursor=answer["next_cursor"])

    async def show(self, who: Principal, action_id: str) -> Mapping[str, Any]:
        action: Mapping[str, Any] = (await self._call(who, "show_pending_action", {"action_id": action_id}))["action"]
        return action

    async def approve(
        self,
        who: Principal,
        action_id: str,
        *,
        content_hash: str,
        edits: Mapping[str, str] | None,
        create_rule: bool | dict[str, Any],
    ) -> Mapping[str, Any] | None:
        asked = {"action_id": action_id, "content_hash": content_hash, "create_rule": create_rule}
        answer = await self._call(who, "approve_action", asked | ({"edits": edits} if edits else {}))
        rule: Mapping[str, Any] | None = answer.get("rule")
        return rule

    async def reject(self, who: Principal, action_id: str, reason: str) -> None:
        await self._call(who, "reject_action", {"action_id": action_id, "reason": reason})

    async def rules(self, who: Principal) -> Sequence[Mapping[str, Any]]:
        rules: Sequence[Mapping[str, Any]] = (await self._call(who, "list_approval_rules", {}))["rules"]
        return rules

    async def create_rule(self, who: Principal, asked: Mapping[str, Any]) -> None:
        await self._call(who, "create_approval_rule", asked)

    async def revoke_rule(self, who: Principal, rule_id: str) -> None:
        await self._call(who, "revoke_approval_rule", {"rule_id": rule_id})

    async def _call(
        self, who: Principal, tool: str, arguments: Mapping[str, Any], timeout_seconds: float = _PATIENCE_SECONDS
    ) -> Mapping[str, Any]:
        """Raises what the tool answered, when that is an error."""
        answer = await self.tools.call(who, tool, arguments, timeout_seconds)
        if answer["status"] != "ok":
            raise read_response(answer).error or InternalError(f"the messenger failed in {tool}")
        return answer
