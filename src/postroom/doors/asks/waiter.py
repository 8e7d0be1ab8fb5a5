"""A call of `ask` or `wait` over MCP: how its client is kept while people think."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, InputRequiredResult

from postroom.domain.errors import PostroomError
from postroom.domain.principal import Principal
from postroom.doors.asks.arguments import check_wait_call
from postroom.doors.asks.client_forms import shown_before
from postroom.doors.asks.results import question_result, refused
from postroom.doors.asks.tasks import TASKS
from postroom.doors.asks.tool_parts import AskToolParts
from postroom.doors.guard.caller import Inside
from postroom.system.mcp_sdk.client_abilities import declares, is_newer, shows_forms
from postroom.work.questions.request import check
from postroom.work.questions.view import Progress, QuestionView

Told = QuestionView | InputRequiredResult


@dataclass(frozen=True, slots=True)
class Waiter:
    """
    A client that knows tasks has its handle at once, one that shows forms to its person shows one, all others wait.

    From inside the process there is no client: such a call only waits.
    """

    parts: AskToolParts
    call: Context[Any, Any] | Inside

    async def ask(self, asked: Mapping[str, Any]) -> CallToolResult | InputRequiredResult:
        return await _told(self._ask(asked))

    async def wait(self, asked: Mapping[str, Any]) -> CallToolResult | InputRequiredResult:
        return await _told(self._wait(asked))

    async def _ask(self, asked: Mapping[str, Any]) -> Told:
        who, request, asking = self._who(), check(asked), self.parts.asking
        seconds = 0 if self._is_task() else request.wait_seconds
        client = self._client_with_forms(who, seconds)
        if client is None:
            return await asking.ask(who, request, wait_seconds=seconds, progress=self._progress(seconds))
        shown = shown_before(client)
        if shown is not None:
            return await self._shown(client, who, await asking.read(who, shown.ask_id), seconds)
        view = await asking.ask(who, request, wait_seconds=0)
        return await self._shown(client, who, view, seconds) if view.question.is_open else view

    async def _wait(self, asked: Mapping[str, Any]) -> Told:
        who, one = self._who(), check_wait_call(asked)
        seconds = 0 if self._is_task() else one.wait_seconds
        client = self._client_with_forms(who, seconds)
        view = await self.parts.asking.wait(
            who,
            ask_id=one.ask_id,
            key=one.key,
            wait_seconds=0 if client else seconds,
            progress=None if client else self._progress(seconds),
        )
        if client is None or not (view.question.is_open or shown_before(client)):
            return view
        return await self._shown(client, who, view, seconds)

    async def _shown(self, client: Context[Any, Any], who: Principal, view: QuestionView, seconds: float) -> Told:
        forms, question = self.parts.forms, view.question
        if is_newer(client.request_context):
            to_show = await forms.next_round(client, who, question)
            return to_show or await self._waited(who, view, seconds)
        async with forms.beside(client, who, question):
            return await self._waited(who, view, seconds)

    async def _waited(self, who: Principal, view: QuestionView, seconds: float) -> QuestionView:
        waited = await self.parts.asking.wait(
            who, ask_id=view.question.id, wait_seconds=seconds, progress=self._progress(seconds)
        )
        return replace(waited, joined=view.joined)

    def _who(self) -> Principal:
        return self.parts.who(self.call)

    def _is_task(self) -> bool:
        return not isinstance(self.call, Inside) and declares(self.call.request_context, TASKS)

    def _client_with_forms(self, who: Principal, seconds: float) -> Context[Any, Any] | None:
        """One that does not wait has no time to show anything."""
        if isinstance(self.call, Inside) or not seconds or not self.parts.forms.people(who):
            return None
        return self.call if shows_forms(self.call.request_context) else None

    def _progress(self, wait_seconds: float) -> Progress | None:
        """Goes to those who gave a token for it, and to no others."""
        call = self.call
        if isinstance(call, Inside):
            return None

        async def report(waited_seconds: float) -> None:
            await call.report_progress(waited_seconds, wait_seconds, "no person has answered yet")

        return report


async def _told(asked: Awaitable[Told]) -> CallToolResult | InputRequiredResult:
    try:
        told = await asked
    except PostroomError as error:
        return refused(error)
    return told if isinstance(told, InputRequiredResult) else question_result(told)
