"""The tools and prompts with which agents ask over MCP: who asks, the token says."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Final

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts import Prompt
from mcp_types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import Field

from postroom.agents.coding.card import skill_section
from postroom.kernel.guard.http import Verifier
from postroom.kernel.guard.tools import Inside, caller, caller_of
from postroom.kernel.serving.mcp import (
    add_extension,
    declares,
    is_newer,
    keep_request_state,
    show_required,
    shows_forms,
)
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.principal import Principal
from postroom.questions.acts import (
    ANSWERS_DESCRIPTION,
    ASK_DESCRIPTION,
    CANCEL_DESCRIPTION,
    REVISE_DESCRIPTION,
    WAIT_DESCRIPTION,
    AllowText,
    AskId,
    Channels,
    ContextText,
    Cursor,
    Deadline,
    Default,
    EscalateAfter,
    EscalateTo,
    FormatName,
    FormSchema,
    Key,
    Kind,
    KnownKey,
    Limit,
    Multiple,
    NewText,
    Opaque,
    OptionalAskId,
    Options,
    PreviewName,
    QuestionText,
    Reason,
    Remind,
    Resume,
    Secret,
    To,
    UrgencyName,
    Wait,
)
from postroom.questions.mcp.tasks import TASKS, ClientForms, QuestionTasks, shown_before
from postroom.questions.questions import Asking
from postroom.questions.rules.request import MAX_DEADLINE_SECONDS, check
from postroom.questions.shapes import (
    check_id,
    check_page_call,
    check_reason,
    check_wait_call,
    document,
    given,
    question_result,
    refused,
    result,
)
from postroom.questions.telling import AnswersPage, Progress, QuestionView

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
    """`verifier` knows the tokens of whoever comes to this server; `state_key` seals what clients keep for us."""

    forms: ClientForms
    verifier: Verifier
    state_key: bytes

    @property
    def asking(self) -> Asking:
        return self.forms.asking

    def who(self, context: Context[Any, Any] | Inside) -> Principal:
        return caller(context, self.verifier)

    def name_of(self, context: ServerRequestContext[Any, Any]) -> str | None:
        principal = caller_of(context, self.verifier)
        return None if principal is None else str(principal)


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
        question: QuestionText = "",
        kind: Kind = None,
        options: Options = None,
        multiple: Multiple = False,
        form: FormSchema = None,
        to: To = None,
        channels: Channels = None,
        context: ContextText = "",
        urgency: UrgencyName = "normal",
        deadline_seconds: Deadline = 86400,
        default: Default = "",
        secret: Secret = False,
        allow_text: AllowText = True,
        remind_after_seconds: Remind = None,
        escalate_to: EscalateTo = None,
        escalate_after_seconds: EscalateAfter = None,
        state: Opaque = None,  # type: ignore[assignment]  # anything at all; see where it is declared
        idempotency_key: Key = "",
        wait_seconds: Wait = 25,
        resume: Resume = None,
        preview: PreviewName = None,
        format: FormatName = None,
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

    server.add_tool(ask, description=ASK_DESCRIPTION, annotations=_ASKS, meta=_ALWAYS_SHOWN)


def _add_wait_and_answers(server: MCPServer[Any], parts: AskToolParts) -> None:
    async def page(call: Context[Any, Any], asked: dict[str, Any]) -> AnswersPage:
        who, one = parts.who(call), check_page_call(asked)
        return await parts.asking.answers(who, since=one.since, limit=one.limit)

    async def wait(
        call: Context[Any, Any],
        ask_id: OptionalAskId = "",
        idempotency_key: KnownKey = "",
        wait_seconds: Wait = 25,
    ) -> CallToolResult | InputRequiredResult:
        asked = given(ask_id=ask_id, idempotency_key=idempotency_key, wait_seconds=wait_seconds)
        return await Waiter(parts, call).wait(asked)

    async def answers(call: Context[Any, Any], since: Cursor = "", limit: Limit = 50) -> CallToolResult:
        try:
            found = await page(call, given(since=since, limit=limit))
        except PostroomError as error:
            return refused(error)
        ended = [document(one) for one in found.views]
        told = f"{len(ended)} of your questions ended. Pass this cursor as since to go on: {found.cursor}."
        return result(told, {"answers": ended, "cursor": found.cursor})

    server.add_tool(wait, description=WAIT_DESCRIPTION, annotations=_WAITS)
    server.add_tool(answers, description=ANSWERS_DESCRIPTION, annotations=_READS)


def _add_cancel(server: MCPServer[Any], parts: AskToolParts) -> None:
    async def cancelled(call: Context[Any, Any], asked: dict[str, Any]) -> QuestionView:
        who, ask_id = parts.who(call), check_id(asked)
        told = {name: value for name, value in asked.items() if name != "ask_id"}
        return await parts.asking.cancel(who, ask_id, check_reason(told))

    async def cancel_ask(call: Context[Any, Any], ask_id: AskId = "", reason: Reason = "") -> CallToolResult:
        return await _question(cancelled(call, given(ask_id=ask_id, reason=reason)))

    server.add_tool(cancel_ask, description=CANCEL_DESCRIPTION, annotations=_CHANGES)


def _add_revise(server: MCPServer[Any], parts: AskToolParts) -> None:
    async def revised(call: Context[Any, Any], ask_id: object, changes: dict[str, Any]) -> QuestionView:
        who = parts.who(call)
        return await parts.asking.revise(who, check_id(given(ask_id=ask_id)), changes)

    async def revise_ask(
        call: Context[Any, Any],
        ask_id: AskId = "",
        question: NewText = "",
        context: ContextText = "",
        options: Options = None,
        form: FormSchema = None,
        multiple: Multiple = None,
        allow_text: AllowText = None,
        default: Default = "",
        deadline_seconds: Deadline = None,
        format: FormatName = None,
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

    server.add_tool(revise_ask, description=REVISE_DESCRIPTION, annotations=_CHANGES)


async def _question(asked: Awaitable[QuestionView]) -> CallToolResult:
    try:
        return question_result(await asked)
    except PostroomError as error:
        return refused(error)


# ---- how a call's client is kept while people think ----


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


# ---- ready prompts: the words of the skill file, for clients that offer prompts to their user ----


Act = Annotated[str, Field(description="What must not be done without a yes, such as: deploy to production")]


def add_ready_prompts(server: MCPServer[Any]) -> None:
    for prompt in _ready():
        server.add_prompt(prompt)


@cache
def _ready() -> tuple[Prompt, ...]:
    """The same on every server: they are made of words alone."""
    made = (
        (use_when_blocked, "Use Postroom when you are blocked", "Ask me on my phone instead of stopping or guessing."),
        (ask_before, "Ask before you deploy", "Ask me on my phone before what cannot be undone."),
        (what_did_i_miss, "What did I miss?", "Fetch the answers that came while you were away."),
    )
    return tuple(Prompt.from_function(prompt, title=title, description=about) for prompt, title, about in made)


def use_when_blocked() -> str:
    begun = "When you are blocked on something that only I can decide or know, use Postroom."
    return f"{begun}\n\n{skill_section('When you are blocked')}\n\nDo not\n\n{skill_section('Do not')}"


def ask_before(act: Act = "deploy") -> str:
    return f"Before you {act}, ask me with Postroom.\n\n{skill_section('Before what cannot be undone')}"


def what_did_i_miss() -> str:
    return f"{skill_section('When you were restarted')}\n\nThen tell me what was answered, and go on where you stopped."
