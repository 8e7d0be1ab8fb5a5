"""`send_notification` as an MCP tool: whose notification it is, the token says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations

from postroom.domain.inbox_agent import INBOX_AGENT
from postroom.domain.principal import Principal, Role
from postroom.doors.guard.caller import caller
from postroom.doors.guard.http import Verifier
from postroom.doors.guard.tool_policy import Rule, person, program
from postroom.doors.notifications.contract import (
    CONVERSATION_META,
    CORRELATION_META,
    DESCRIPTION,
    NAME,
    PARAMETERS,
    USER_META,
)
from postroom.system.mcp_sdk.tools import show_parameters
from postroom.work.inbox import answers
from postroom.work.inbox.answers import Answer
from postroom.work.inbox.notifications import Notifications
from postroom.work.inbox.owner import recipient
from postroom.work.inbox.request import NO_USER, Request

# Checked by us and not by the SDK, so that a wrong argument gets the contract's answer too.
Anything = Any

_log = structlog.get_logger("postroom.agents")


def add_tools(server: MCPServer[Any], notifications: Notifications, verifier: Verifier) -> dict[str, Rule]:
    """Returns who may call what was added."""

    async def send_notification(
        context: Context[Any, Any],
        message: Anything = None,
        type: Anything = "info",
        urgency: Anything = None,
        category: Anything = None,
        thread: Anything = None,
        supersedes: Anything = None,
        needs_ack: Anything = None,
        expires_in_seconds: Anything = None,
    ) -> Answer:
        meta: Mapping[str, Any] = context.request_context.meta or {}
        given = {
            "message": message,
            "type": type,
            "urgency": urgency,
            "category": category,
            "thread": thread,
            "supersedes": supersedes,
            "needs_ack": needs_ack,
            "expires_in_seconds": expires_in_seconds,
        }
        try:
            return await _send(notifications, caller(context, verifier), given, meta)
        except Exception as error:  # a model must get the contract's answer, whatever went wrong
            _log.error("send_notification.bug", error=error.__class__.__name__)
            return answers.failed("internal error")

    server.add_tool(
        send_notification,
        name=NAME,
        description=DESCRIPTION,
        annotations=ToolAnnotations(destructive_hint=False, idempotent_hint=False, open_world_hint=False),
    )
    # A model is shown that `message` is required. The function has a default for it all the same,
    # because a call without it would otherwise get the SDK's answer.
    show_parameters(server, NAME, PARAMETERS)
    return {NAME: lambda one: person(one) or program(one)}


async def _send(
    notifications: Notifications, who: Principal, given: Mapping[str, Any], meta: Mapping[str, Any]
) -> Answer:
    named = meta.get(USER_META)
    user_id = recipient(who, named) if named is None or isinstance(named, str) else None
    if user_id is None:
        return answers.validation_error(NO_USER if named is None else "user_id is not the token's")
    return await notifications.send(
        Request(
            **given,
            user_id=user_id,
            agent=who.name if who.role is Role.PROGRAM else INBOX_AGENT,
            conversation_id=meta.get(CONVERSATION_META),
            correlation_id=meta.get(CORRELATION_META),
        )
    )
