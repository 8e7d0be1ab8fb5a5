"""`ask`, `wait`, `answers`, `cancel_ask` and `revise_ask` as MCP tools: who asks, the token says."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult, InputRequiredResult, ToolAnnotations

from postroom.domain.errors import PostroomError
from postroom.doors.asks import tool_words as words
from postroom.doors.asks.arguments import check_id, check_page_call, check_reason, given
from postroom.doors.asks.render import document
from postroom.doors.asks.results import question_result, refused, result
from postroom.doors.asks.tasks import QuestionTasks
from postroom.doors.asks.tool_parts import AskToolParts
from postroom.doors.asks.waiter import Waiter
from postroom.system.mcp_sdk.extensions import add_extension
from postroom.system.mcp_sdk.request_state import keep_request_state
from postroom.system.mcp_sdk.tools import show_required
from postroom.work.questions.request import MAX_DEADLINE_SECONDS
from postroom.work.questions.view import AnswersPage, QuestionView

__all__ = ["ASK_TOOLS", "LONG_TOOLS", "AskToolParts", "add_ask_tools"]

ASK_TOOLS: Final = ("ask", "wait", "answers", "cancel_ask", "revise_ask")
LONG_TOOLS: Final = ("ask", "wait")  # these wait for people
_ASKS: Final = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=True)
_WAITS: Final = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=True)
_READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_CHANGES: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=True
)
_NEEDED: Final = {"ask": "question", "cancel_ask": "ask_id", "revise_ask": "ask_id"}
_ALWAYS_SHOWN: Final = {"anthropic/alwaysLoad": True}  # not behind a search for tools


def add_ask_tools(server: MCPServer[Any], parts: AskToolParts) -> None:
    _add_ask(server, parts)
    _add_wait_and_answers(server, parts)
    _add_cancel(server, parts)
    _add_revise(server, parts)
    for name, needed in _NEEDED.items():
        show_required(server, name, needed)
    add_extension(server, QuestionTasks(parts.forms, parts.verifier, LONG_TOOLS))
    keep_request_state(server, parts.state_key, MAX_DEADLINE_SECONDS, parts.name_of)


def _add_ask(server: MCPServer[Any], parts: AskToolParts) -> None:
    async def ask(
        call: Context[Any, Any],
        question: words.QuestionText = "",
        kind: words.Kind = None,
        options: words.Options = None,
        multiple: words.Multiple = False,
        form: words.FormSchema = None,
        to: words.To = None,
        channels: words.Channels = None,
        context: words.ContextText = "",
        urgency: words.UrgencyName = "normal",
        deadline_seconds: words.Deadline = 86400,
        default: words.Default = "",
        secret: words.Secret = False,
        allow_text: words.AllowText = True,
        remind_after_seconds: words.Remind = None,
        escalate_to: words.EscalateTo = None,
        escalate_after_seconds: words.EscalateAfter = None,
        state: words.Opaque = None,  # type: ignore[assignment]  # anything at all; see where it is declared
        idempotency_key: words.Key = "",
        wait_seconds: words.Wait = 25,
        resume: words.Resume = None,
        preview: words.PreviewName = None,
        format: words.FormatName = None,
    ) -> CallToolResult | InputRequiredResult:
        asked = given(
            question=question,
            kind=kind,
            options=options,
            multiple=multiple,
            form=form,
            to=to,
            channels=channels,
            context=context,
            urgency=urgency,
            deadline_seconds=deadline_seconds,
            default=default,
            secret=secret,
            allow_text=allow_text,
            remind_after_seconds=remind_after_seconds,
            escalate_to=escalate_to,
            escalate_after_seconds=escalate_after_seconds,
            idempotency_key=idempotency_key,
            wait_seconds=wait_seconds,
            resume=resume,
            preview=preview,
            format=format,
        )
        return await Waiter(parts, call).ask(asked | {"state": state})

    server.add_tool(ask, description=words.ASK_DESCRIPTION, annotations=_ASKS, meta=_ALWAYS_SHOWN)


def _add_wait_and_answers(server: MCPServer[Any], parts: AskToolParts) -> None:
    async def page(call: Context[Any, Any], asked: dict[str, Any]) -> AnswersPage:
        who, one = parts.who(call), check_page_call(asked)
        return await parts.asking.answers(who, since=one.since, limit=one.limit)

    async def wait(
        call: Context[Any, Any],
        ask_id: words.OptionalAskId = "",
        idempotency_key: words.KnownKey = "",
        wait_seconds: words.Wait = 25,
    ) -> CallToolResult | InputRequiredResult:
        asked = given(ask_id=ask_id, idempotency_key=idempotency_key, wait_seconds=wait_seconds)
        return await Waiter(parts, call).wait(asked)

    async def answers(call: Context[Any, Any], since: words.Cursor = "", limit: words.Limit = 50) -> CallToolResult:
        try:
            found = await page(call, given(since=since, limit=limit))
        except PostroomError as error:
            return refused(error)
        ended = [document(one) for one in found.views]
        told = f"{len(ended)} of your questions ended. Pass this cursor as since to go on: {found.cursor}."
        return result(told, {"answers": ended, "cursor": found.cursor})

    server.add_tool(wait, description=words.WAIT_DESCRIPTION, annotations=_WAITS)
    server.add_tool(answers, description=words.ANSWERS_DESCRIPTION, annotations=_READS)


def _add_cancel(server: MCPServer[Any], parts: AskToolParts) -> None:
    async def cancelled(call: Context[Any, Any], asked: dict[str, Any]) -> QuestionView:
        who, ask_id = parts.who(call), check_id(asked)
        told = {name: value for name, value in asked.items() if name != "ask_id"}
        return await parts.asking.cancel(who, ask_id, check_reason(told))

    async def cancel_ask(
        call: Context[Any, Any], ask_id: words.AskId = "", reason: words.Reason = ""
    ) -> CallToolResult:
        return await _question(cancelled(call, given(ask_id=ask_id, reason=reason)))

    server.add_tool(cancel_ask, description=words.CANCEL_DESCRIPTION, annotations=_CHANGES)


def _add_revise(server: MCPServer[Any], parts: AskToolParts) -> None:
    async def revised(call: Context[Any, Any], ask_id: object, changes: dict[str, Any]) -> QuestionView:
        who = parts.who(call)
        return await parts.asking.revise(who, check_id(given(ask_id=ask_id)), changes)

    async def revise_ask(
        call: Context[Any, Any],
        ask_id: words.AskId = "",
        question: words.NewText = "",
        context: words.ContextText = "",
        options: words.Options = None,
        form: words.FormSchema = None,
        multiple: words.Multiple = None,
        allow_text: words.AllowText = None,
        default: words.Default = "",
        deadline_seconds: words.Deadline = None,
        format: words.FormatName = None,
    ) -> CallToolResult:
        changes = given(
            question=question,
            context=context,
            options=options,
            form=form,
            multiple=multiple,
            allow_text=allow_text,
            default=default,
            deadline_seconds=deadline_seconds,
            format=format,
        )
        return await _question(revised(call, ask_id, changes))

    server.add_tool(revise_ask, description=words.REVISE_DESCRIPTION, annotations=_CHANGES)


async def _question(asked: Awaitable[QuestionView]) -> CallToolResult:
    try:
        return question_result(await asked)
    except PostroomError as error:
        return refused(error)
