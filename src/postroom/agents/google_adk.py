"""Google ADK: tools that need a confirmation or run long wait for a person, in this process or the next."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from google.adk.events import Event
from google.adk.runners import Runner
from google.genai import types

from postroom.agents.asks import HouseholdAsks, key_of, to_answer, to_approve

_CONFIRMATION = "adk_request_confirmation"


async def drive(
    runner: Runner, given: str, *, user_id: str, session_id: str, asks: HouseholdAsks | None = None
) -> Sequence[Event]:
    """
    The events of the run, once a person has answered every call it waits for.

    Needs a session service that outlives the process. A session that waits goes on, and `given` is not said again.
    """
    asks, whose = asks or HouseholdAsks.here(), {"user_id": user_id, "session_id": session_id}
    service, seen = runner.session_service, list[Event]()
    session = await service.get_session(app_name=runner.app_name, **whose)
    if session is None:
        session = await service.create_session(app_name=runner.app_name, **whose)
    parts = [types.Part(text=given)]
    waiting = _waiting(session.events)
    while waiting or not seen:
        if waiting:
            parts = await asyncio.gather(*(_response(asks, session_id, one) for one in waiting))
        message = types.Content(role="user", parts=list(parts))
        seen += [event async for event in runner.run_async(**whose, new_message=message)]
        session = await service.get_session(app_name=runner.app_name, **whose)
        waiting = _waiting(session.events)
    return seen


def _waiting(events: Sequence[Event]) -> list[types.FunctionCall]:
    answered = {one.id for event in events if event.author == "user" for one in event.get_function_responses()}
    calls = ((event, call) for event in events for call in event.get_function_calls())
    return [call for event, call in calls if call.id in (event.long_running_tool_ids or ()) and call.id not in answered]


async def _response(asks: HouseholdAsks, session_id: str, call: types.FunctionCall) -> types.Part:
    key, given = key_of("google-adk", session_id, call.id), dict(call.args or {})
    if call.name == _CONFIRMATION:
        original: dict[str, Any] = given["originalFunctionCall"]
        refusal = await asks.approval(key, to_approve(original["name"], original.get("args") or {}))
        said: dict[str, Any] = {"confirmed": refusal is None}
    else:
        said = {"result": await asks.answer(key, to_answer(call.name, given))}
    return types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response=said))
