"""OpenAI Agents SDK: a tool with `needs_approval` waits for a person, and `send_notification` is a tool of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import structlog

try:
    from agents.tool_context import ToolContext

    from agents import Agent, FunctionTool, Runner, RunResult, RunState
except ImportError:
    raise ImportError("postroom.agents needs the extra: pip install 'postroom[openai-agents]'") from None

from postroom.agents.asks import Household, HouseholdAsks, LocalHousehold, PausingRun, drive_run, to_approve
from postroom.inbox.acts import SendNotification
from postroom.inbox.rules import Sent, failed, not_created
from postroom.kernel.acts.declaration import Tool, words_of
from postroom.kernel.acts.reading import arguments_schema, read
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.fields import strict_json
from postroom.message.wire import WISH_FIELDS
from postroom.questions.acts import AskPeople


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

    async def questions(saved: str) -> Sequence[AskPeople]:
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


# `send_notification` as a function tool.

_log = structlog.get_logger("postroom.agents")
_CONTRACT: Final = Tool("send_notification", without=WISH_FIELDS)  # the specification's; a model may send the rest too


def notification_tool(household: Household) -> FunctionTool:
    """
    The tool for one particular household.

    The run's context says whose notification it is: `user_id`, `conversation_id`
    and `correlation_id`, as keys of a mapping or attributes of an object. Under
    `postroom` it may bring a household of its own, which then takes precedence.
    """

    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        try:
            answer = await _send(household, context.context, arguments)
        except Exception as error:  # a model must get the contract's answer, whatever went wrong
            _log.error("send_notification.bug", error=type(error).__name__)
            answer = failed("internal error")
        return strict_json(answer, ensure_ascii=False)

    return FunctionTool(
        name=_CONTRACT.name,
        description=words_of(SendNotification),
        params_json_schema=arguments_schema(SendNotification, _CONTRACT),
        on_invoke_tool=invoke,
        strict_json_schema=False,  # strict mode would make `type` required
    )


send_notification = notification_tool(LocalHousehold())


async def _send(household: Household, context: object, arguments: str) -> Sent:
    given = {name: value for name, value in _arguments(arguments).items() if name in SendNotification.model_fields}
    try:
        one, _ = read(SendNotification, given, SendNotification.declared.tool)
        ids = {name: _field(context, name) for name in ("user_id", "conversation_id", "correlation_id")}
        return await (_field(context, "postroom") or household).send(one.new(**ids))
    except PostroomError as error:
        return not_created(error)


def _arguments(text: str) -> Mapping[str, Any]:
    """Models get this wrong: no JSON, no object. Then there is no message either, and the answer says so."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, Mapping) else {}


def _field(context: object, name: str) -> Any:
    return context.get(name) if isinstance(context, Mapping) else getattr(context, name, None)
