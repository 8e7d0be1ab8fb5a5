"""`send_notification` as a function tool of the OpenAI Agents SDK."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import structlog

try:
    from agents.tool_context import ToolContext

    from agents import FunctionTool
except ImportError:
    raise ImportError("postroom.agents needs the extra: pip install 'postroom[openai-agents]'") from None

from postroom.agents.asks import Household, LocalHousehold
from postroom.inbox import rules
from postroom.inbox.model import CONTRACT, DESCRIPTION, NAME
from postroom.inbox.rules import Answer, Request, check
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.json import strict_json
from postroom.message.wire import WISH_FIELDS

_log = structlog.get_logger("postroom.agents")


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
            answer = rules.failed("internal error")
        return strict_json(answer, ensure_ascii=False)

    return FunctionTool(
        name=NAME,
        description=DESCRIPTION,
        params_json_schema=CONTRACT,
        on_invoke_tool=invoke,
        strict_json_schema=False,  # strict mode would make `type` required
    )


send_notification = notification_tool(LocalHousehold())


async def _send(household: Household, context: object, arguments: str) -> Answer:
    try:
        request = _request(context, arguments)
        check(request)
    except ValidationError as error:
        return rules.validation_error(error.message)
    return await (_field(context, "postroom") or household).send(request)


def _request(context: object, arguments: str) -> Request:
    given = _arguments(arguments)
    wishes: dict[str, Any] = {name: given.get(name) for name in WISH_FIELDS}
    request = Request(
        message=given.get("message"),
        **wishes,
        user_id=_field(context, "user_id"),
        conversation_id=_field(context, "conversation_id"),
        correlation_id=_field(context, "correlation_id"),
    )
    return replace(request, type=given["type"]) if "type" in given else request


def _arguments(text: str) -> Mapping[str, Any]:
    """Models get this wrong: no JSON, no object. Then there is no message either, and the answer says so."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, Mapping) else {}


def _field(context: object, name: str) -> Any:
    return context.get(name) if isinstance(context, Mapping) else getattr(context, name, None)
