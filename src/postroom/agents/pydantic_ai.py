"""Pydantic AI: deferred tools wait for a person, and then the run goes on, here or in the next process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelMessagesTypeAdapter, ToolDenied

from postroom.agents.asks import HouseholdAsks, PausingRun, drive_run, to_answer, to_approve
from postroom.questions.acts import AskPeople


async def drive(
    agent: Agent[Any, Any], prompt: Any, *, run_id: str, asks: HouseholdAsks | None = None, **options: Any
) -> Any:
    """
    The run's result, once a person has dealt with every deferred tool call.

    The agent's `output_type` names `DeferredToolRequests`. `run_id` names the run in every process that may go on with
    it; `options` are those of `Agent.run`. The history is kept with the question (at most 64 KiB, packed).
    """

    async def start() -> Any:
        return await agent.run(prompt, **options)

    async def resume(saved: str, answers: Sequence[Any]) -> Any:
        kept, results = json.loads(saved), DeferredToolResults()
        for one, answer in zip(kept["calls"], answers, strict=True):
            if one["approve"]:
                results.approvals[one["id"]] = True if answer is None else ToolDenied(answer)
            else:
                results.calls[one["id"]] = answer
        history = ModelMessagesTypeAdapter.validate_json(kept["history"])
        return await agent.run(message_history=history, deferred_tool_results=results, **options)

    run = PausingRun(start=start, saved=_saved, questions=_questions, resume=resume)
    return await drive_run(run, asks or HouseholdAsks.here(), "pydantic-ai", run_id)


def _saved(result: Any) -> str | None:
    asked = result.output
    if not isinstance(asked, DeferredToolRequests):
        return None
    calls = [(True, one) for one in asked.approvals] + [(False, one) for one in asked.calls]
    shown = [
        {"id": one.tool_call_id, "tool": one.tool_name, "arguments": one.args_as_dict(), "approve": approve}
        for approve, one in calls
    ]
    return json.dumps({"calls": shown, "history": result.all_messages_json().decode()})


async def _questions(saved: str) -> Sequence[AskPeople]:
    calls = json.loads(saved)["calls"]
    return [(to_approve if one["approve"] else to_answer)(one["tool"], one["arguments"]) for one in calls]
