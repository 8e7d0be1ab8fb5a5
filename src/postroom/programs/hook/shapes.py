"""An answer in the words of each client, with exactly the fields it takes: one too many, and it ignores all of them."""

from __future__ import annotations

import json
from typing import Any, Final

from postroom.programs.hook.call import HookCall, Moment

DEFER: Final = "defer"


def allowed(
    call: HookCall, *, updated_input: dict[str, Any] | None = None, for_session: bool = False
) -> dict[str, Any]:
    if call.client == "gemini":
        return {"decision": "allow"}
    if call.moment is Moment.BEFORE_TOOL:
        return _before_tool(call, "allow", None, updated_input)
    decision: dict[str, Any] = {"behavior": "allow"}
    if updated_input is not None and call.client == "claude":
        decision["updatedInput"] = updated_input
    if for_session and call.client == "claude":
        decision["updatedPermissions"] = [{**one, "destination": "session"} for one in call.suggestions]
    return _specific(call, {"decision": decision})


def denied(call: HookCall, why: str) -> dict[str, Any]:
    if call.client == "gemini":
        return {"decision": "deny", "reason": why}
    if call.moment is Moment.BEFORE_TOOL:
        return _before_tool(call, "deny", why, None)
    return _specific(call, {"decision": {"behavior": "deny", "message": why}})


def deferred(call: HookCall) -> dict[str, Any]:
    return _before_tool(call, DEFER, None, None)


def written(answer: dict[str, Any] | None) -> str:
    """Nothing at all is what makes a client go on as if there were no hook."""
    return "" if answer is None else json.dumps(answer, ensure_ascii=False) + "\n"


def _before_tool(
    call: HookCall, decision: str, why: str | None, updated_input: dict[str, Any] | None
) -> dict[str, Any]:
    said: dict[str, Any] = {"permissionDecision": decision}
    if why is not None:
        said["permissionDecisionReason"] = why
    if updated_input is not None:
        said["updatedInput"] = updated_input
    return _specific(call, said)


def _specific(call: HookCall, said: dict[str, Any]) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": call.event, **said}}
