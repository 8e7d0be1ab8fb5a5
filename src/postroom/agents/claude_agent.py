"""Claude Agent SDK: what Claude Code may not do by itself, a person allows, in this process or the next."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import claude_agent_sdk as sdk

from postroom.agents.asks import HouseholdAsks, Unanswered, key_of, to_approve

GO_ON = "You were cut off, maybe while a tool waited for a person. Go on; call it again if it had no effect."
_INTERRUPTED = "[Tool call interrupted"  # as Claude Code marks the result of a call that it cut off
_UNDECIDED = "[postroom:undecided]"  # as we mark the result of a call about which no person has decided


async def drive(
    prompt: str, options: sdk.ClaudeAgentOptions, *, session_id: str, asks: HouseholdAsks | None = None
) -> list[sdk.Message]:
    """
    The messages of the turn, once a person has decided about every tool that needs a permission.

    `session_id` is a UUID. A session that was cut off goes on, and `prompt` is not said again. After a crash a call
    comes again under another id, so it is known by what it does and how often that was done before.
    """
    there, said = asks or HouseholdAsks.here(), sdk.get_session_messages(session_id)
    seen = _blocks(said)
    times = _done(seen)

    async def may(tool: str, given: dict[str, Any], _: sdk.ToolPermissionContext) -> Any:
        call = _call(tool, given)
        key = key_of("claude-agent", session_id, call, times[call])
        times[call] += 1
        try:
            refusal = await there.approval(key, to_approve(tool, given))
        except Unanswered as error:  # silence is no refusal, so the turn ends here
            return sdk.PermissionResultDeny(message=f"{_UNDECIDED} No person has decided yet: {error}", interrupt=True)
        return sdk.PermissionResultAllow() if refusal is None else sdk.PermissionResultDeny(message=refusal)

    named: dict[str, Any] = {"resume" if said else "session_id": session_id}
    async with sdk.ClaudeSDKClient(replace(options, can_use_tool=may, **named)) as client:
        await client.query(GO_ON if _is_cut_off(said, seen) else prompt)
        return [message async for message in client.receive_response()]


def _blocks(said: list[Any]) -> list[dict[str, Any]]:
    contents = (one.message["content"] for one in said)
    return [block for content in contents if isinstance(content, list) for block in content]


def _is_cut_off(said: list[Any], seen: list[dict[str, Any]]) -> bool:
    """Claude had the last word in a turn that is over; a prompt that it never answered is one that was cut off."""
    return bool(said) and (said[-1].type == "user" or (bool(seen) and seen[-1]["type"] == "tool_use"))


def _done(blocks: list[dict[str, Any]]) -> Counter[str]:
    results = (one for one in blocks if one["type"] == "tool_result")
    over = {one["tool_use_id"] for one in results if not str(one["content"]).startswith((_INTERRUPTED, _UNDECIDED))}
    return Counter(_call(one["name"], one["input"]) for one in blocks if one.get("id") in over)


def _call(tool: str, given: dict[str, Any]) -> str:
    return json.dumps([tool, given], sort_keys=True)
