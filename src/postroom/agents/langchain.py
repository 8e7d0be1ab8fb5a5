"""LangChain's HumanInTheLoopMiddleware: each tool call it stops is put to a person."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from postroom.agents.asks import HouseholdAsks, key_of, to_answer, to_approve
from postroom.agents.langgraph import drive_with

_DECIDES = frozenset({"approve", "reject"})


async def drive(agent: Any, given: Any, config: Mapping[str, Any], *, asks: HouseholdAsks | None = None) -> Any:
    """
    The agent's result, once a person has decided about every tool call that was stopped.

    Needs a checkpointer that outlives the process, as every LangGraph does. A tool that allows `respond` alone is
    answered in the person's words; every other is approved or rejected, and none is edited.
    """
    return await drive_with(agent, given, config, asks or HouseholdAsks.here(), _decisions)


async def _decisions(asks: HouseholdAsks, thread: str, interrupt: Any) -> Any:
    value = interrupt.value
    if value.get("type") == "tool_approval":
        return await _decision(asks, key_of("langchain", thread, interrupt.id), value, sorted(_DECIDES))
    allowed = {one["action_name"]: one["allowed_decisions"] for one in value["review_configs"]}
    decisions = (
        _decision(asks, key_of("langchain", thread, interrupt.id, place), one, allowed[one["name"]])
        for place, one in enumerate(value["action_requests"])
    )
    return {"decisions": await asyncio.gather(*decisions)}


async def _decision(asks: HouseholdAsks, key: str, action: Mapping[str, Any], allowed: Sequence[str]) -> dict[str, Any]:
    if list(allowed) == ["respond"]:
        said = await asks.answer(key, to_answer(action["name"], action["args"]))
        return {"type": "respond", "message": str(said)}
    if not set(allowed) >= _DECIDES:
        raise ValueError(f"{action['name']} allows {', '.join(allowed)}; a person needs both approve and reject")
    refusal = await asks.approval(key, to_approve(action["name"], action["args"]))
    return {"type": "approve"} if refusal is None else {"type": "reject", "message": refusal}
