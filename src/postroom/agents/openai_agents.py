"""OpenAI Agents SDK: a tool with `needs_approval` runs once a person has said so, in this process or the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agents import Agent, Runner, RunResult, RunState
from postroom.agents.asks import HouseholdAsks, PausingRun, drive_run, to_approve


async def drive(
    agent: Agent[Any],
    given: Any,
    *,
    run_id: str,
    asks: HouseholdAsks | None = None,
    context: Any = None,
    **options: Any,
) -> RunResult:
    """
    The run's result, once a person has decided about every tool call that needs it.

    `run_id` names the run in every process that may go on with it; `options` are those of `Runner.run`. The run's
    state is kept with the question (at most 64 KiB, packed); the context is not, and is given anew.
    """

    async def restored(saved: str) -> RunState[Any, Agent[Any]]:
        return await RunState.from_string(agent, saved, context_override=context)

    async def start() -> RunResult:
        return await Runner.run(agent, given, context=context, **options)

    async def questions(saved: str) -> Sequence[Mapping[str, Any]]:
        waiting = (await restored(saved)).get_interruptions()
        return [to_approve(one.name or "a tool", one.arguments or "") for one in waiting]

    async def resume(saved: str, refusals: Sequence[Any]) -> RunResult:
        state = await restored(saved)
        for one, refusal in zip(state.get_interruptions(), refusals, strict=True):
            if refusal is None:
                state.approve(one)
            else:
                state.reject(one, rejection_message=refusal)
        return await Runner.run(agent, state, **options)

    run = PausingRun(start=start, saved=_saved, questions=questions, resume=resume)
    return await drive_run(run, asks or HouseholdAsks.here(), "openai-agents", run_id)


def _saved(result: RunResult) -> str | None:
    return result.to_state().to_string(context_serializer=lambda _: {}) if result.interruptions else None
