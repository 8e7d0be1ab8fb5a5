"""Claude Agent SDK: what Claude Code may not do by itself, a person allows, in this process or the next."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    Message,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
    get_session_messages,
)

from postroom.agents.asks import HouseholdAsks, Unanswered, key_of, to_approve

GO_ON = "You were cut off, maybe while a tool waited for a person. Go on; call it again if it had no effect."
_CUT_OFF = "[Tool call interrupted"  # how Claude Code begins the result of a call that its session did not outlive


async def drive(
    prompt: str, options: ClaudeAgentOptions, *, session_id: str, asks: HouseholdAsks | None = None
) -> list[Message]:
    """
    The messages of the turn, once a person has decided about every tool that needs a permission.

    `session_id` is a UUID. A session that was cut off goes on, and `prompt` is not said again.
    """
    there, seen = asks or HouseholdAsks.here(), _blocks(session_id)

    async def may(tool: str, given: dict[str, Any], _: ToolPermissionContext) -> Any:
        try:
            refusal = await there.approval(_key(session_id, tool, given), to_approve(tool, given))
        except Unanswered as error:  # silence is no refusal, so the turn ends here
            return PermissionResultDeny(message=f"No person has decided yet: {error}", interrupt=True)
        return PermissionResultAllow() if refusal is None else PermissionResultDeny(message=refusal)

    named: dict[str, Any] = {"resume" if seen else "session_id": session_id}
    async with ClaudeSDKClient(replace(options, can_use_tool=may, **named)) as client:
        await client.query(GO_ON if seen and seen[-1]["type"] in ("tool_use", "tool_result") else prompt)
        return [message async for message in client.receive_response()]


def _blocks(session_id: str) -> list[dict[str, Any]]:
    contents = (one.message["content"] for one in get_session_messages(session_id))
    return [block for content in contents if isinstance(content, list) for block in content]


def _key(session_id: str, tool: str, given: dict[str, Any]) -> str:
    """After a crash the same call comes under another id; one that has its result was another call."""
    blocks = _blocks(session_id)
    results = (one for one in blocks if one["type"] == "tool_result")
    over = {one["tool_use_id"] for one in results if not str(one["content"]).startswith(_CUT_OFF)}
    calls = (one for one in blocks if one["type"] == "tool_use" and one["id"] in over)
    times = sum((one["name"], one["input"]) == (tool, given) for one in calls)
    return key_of("claude-agent", session_id, tool, json.dumps(given, sort_keys=True), times)
