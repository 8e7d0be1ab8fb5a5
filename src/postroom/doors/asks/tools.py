"""`ask`, `wait`, `answers`, `cancel_ask` and `revise_ask` as MCP tools: who asks, the token says."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult, TextContent, ToolAnnotations

from postroom.domain.errors import PostroomError
from postroom.domain.principal import Principal
from postroom.domain.strict_json import strict_json
from postroom.doors.asks import tool_words as words
from postroom.doors.asks.arguments import check_id, check_page_call, check_reason, check_wait_call, given
from postroom.doors.asks.refusals import refusal
from postroom.doors.asks.render import document
from postroom.doors.guard.caller import Inside, caller
from postroom.doors.guard.http import Verifier
from postroom.system.mcp_sdk.tools import show_required
from postroom.work.questions.asking import Asking
from postroom.work.questions.request import check
from postroom.work.questions.view import AnswersPage, Progress, QuestionView

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


@dataclass(frozen=True, slots=True, kw_only=True)
class AskToolParts:
    """`verifier` knows the tokens of whoever comes to this server."""

    asking: Asking
    verifier: Verifier

    def who(self, context: Context[Any, Any]) -> Principal:
        return caller(context, self.verifier)


def add_ask_tools(server: MCPServer[Any], parts: AskToolParts) -> None:
    _add_ask(server, parts)
    _add_wait_and_answers(server, parts)
    _add_cancel(server, parts)
    _add_revise(server, parts)
    for name, needed in _NEEDED.items():
        show_required(server, name, needed)


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
    ) -> CallToolResult:
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
        return await _question(_ask(parts, call, asked | {"state": state}))

    server.add_tool(ask, description=words.ASK_DESCRIPTION, annotations=_ASKS, meta=_ALWAYS_SHOWN)


async def _ask(parts: AskToolParts, call: Context[Any, Any], asked: dict[str, Any]) -> QuestionView:
    who, request = parts.who(call), check(asked)
    seconds = request.wait_seconds
    return await parts.asking.ask(who, request, wait_seconds=seconds, progress=_progress(call, seconds))


def _add_wait_and_answers(server: MCPServer[Any], parts: AskToolParts) -> None:
    async def waited(call: Context[Any, Any], asked: dict[str, Any]) -> QuestionView:
        who, one = parts.who(call), check_wait_call(asked)
        seconds = one.wait_seconds
        return await parts.asking.wait(
            who, ask_id=one.ask_id, key=one.key, wait_seconds=seconds, progress=_progress(call, seconds)
        )

    async def page(call: Context[Any, Any], asked: dict[str, Any]) -> AnswersPage:
        who, one = parts.who(call), check_page_call(asked)
        return await parts.asking.answers(who, since=one.since, limit=one.limit)

    async def wait(
        call: Context[Any, Any],
        ask_id: words.OptionalAskId = "",
        idempotency_key: words.KnownKey = "",
        wait_seconds: words.Wait = 25,
    ) -> CallToolResult:
        asked = given(ask_id=ask_id, idempotency_key=idempotency_key, wait_seconds=wait_seconds)
        return await _question(waited(call, asked))

    async def answers(call: Context[Any, Any], since: words.Cursor = "", limit: words.Limit = 50) -> CallToolResult:
        try:
            found = await page(call, given(since=since, limit=limit))
        except PostroomError as error:
            return _refused(error)
        ended = [document(one) for one in found.views]
        told = f"{len(ended)} of your questions ended. Pass this cursor as since to go on: {found.cursor}."
        return _told(told, {"answers": ended, "cursor": found.cursor})

    server.add_tool(wait, description=words.WAIT_DESCRIPTION, annotations=_WAITS)
    server.add_tool(answers, description=words.ANSWERS_DESCRIPTION, annotations=_READS)


def _add_cancel(server: MCPServer[Any], parts: AskToolParts) -> None:
    async def cancelled(call: Context[Any, Any], asked: dict[str, Any]) -> QuestionView:
        who, ask_id = parts.who(call), check_id(asked)
        return await parts.asking.cancel(who, ask_id, check_reason(asked))

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


def _progress(call: Context[Any, Any] | Inside, wait_seconds: float) -> Progress | None:
    """Goes to those who gave a token for it, and to no others."""
    if isinstance(call, Inside):
        return None

    async def report(waited_seconds: float) -> None:
        await call.report_progress(waited_seconds, wait_seconds, "no person has answered yet")

    return report


async def _question(asked: Awaitable[QuestionView]) -> CallToolResult:
    try:
        shown = document(await asked)
    except PostroomError as error:
        return _refused(error)
    return _told(f"Question {shown['ask_id']} is {shown['status']}. {shown['next']}", shown)


def _refused(error: PostroomError) -> CallToolResult:
    told = refusal(error)
    return _told(f"Nothing was done. {told['error_message']}", told)


def _told(said: str, shown: dict[str, Any]) -> CallToolResult:
    """In words what to do next; and the whole once more as text, for clients that show a model nothing else."""
    content = [TextContent(type="text", text=text) for text in (said, strict_json(shown, ensure_ascii=False))]
    return CallToolResult(content=list(content), structured_content=shown)
