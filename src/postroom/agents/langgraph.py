"""LangGraph: each `interrupt` is put to a person, and the graph goes on, here or in the next process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langgraph.types import Command

from postroom.agents.asks import HouseholdAsks, key_of, to_ask
from postroom.questions.acts import AskPeople

Answering = Callable[[HouseholdAsks, str, Any], Awaitable[Any]]  # the thread, the interrupt; its answer


async def drive(graph: Any, given: Any, config: Mapping[str, Any], *, asks: HouseholdAsks | None = None) -> Any:
    """
    The graph's result, once every question in it is answered.

    Needs a checkpointer that outlives the process. A thread that waits or was cut off goes on from there, and `given`
    is not given again. An interrupt's value is the question, or an object of the arguments of `ask`.
    """
    return await drive_with(graph, given, config, asks or HouseholdAsks.here(), _answer)


async def drive_with(
    graph: Any, given: Any, config: Mapping[str, Any], asks: HouseholdAsks, answering: Answering
) -> Any:
    if graph.checkpointer is None:
        raise ValueError("the graph needs a checkpointer: without one nothing is left to resume")
    state, result = await graph.aget_state(config), None
    if not state.interrupts:
        result = await graph.ainvoke(None if state.next else given, config)
        state = await graph.aget_state(config)
    while state.interrupts:
        thread = config["configurable"]["thread_id"]
        answers = await asyncio.gather(*(answering(asks, thread, one) for one in state.interrupts))
        resume = {one.id: answer for one, answer in zip(state.interrupts, answers, strict=True)}
        result = await graph.ainvoke(Command(resume=resume), config)
        state = await graph.aget_state(config)
    return result


async def _answer(asks: HouseholdAsks, thread: str, interrupt: Any) -> Any:
    return await asks.answer(key_of("langgraph", thread, interrupt.id), _question(interrupt.value))


def _question(value: Any) -> AskPeople:
    if isinstance(value, Mapping) and isinstance(value.get("question"), str):
        return to_ask(value)
    return to_ask({"question": value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)})
