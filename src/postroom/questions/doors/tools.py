"""Agents ask over MCP: what the acts of questions work on, how a call's client is kept meanwhile, and ready prompts."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Final

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts import Prompt
from mcp_types import InputRequiredResult
from pydantic import Field

from postroom.agents.coding.card import skill_section
from postroom.kernel.acts.declaration import Call
from postroom.kernel.acts.tools import add_tools
from postroom.kernel.guard.tools import GuardedServer, Rule, caller_of
from postroom.kernel.serving.mcp import add_extension, declares, is_newer, keep_request_state, shows_forms
from postroom.kernel.values.errors import Code, Refused
from postroom.kernel.values.principal import Principal
from postroom.questions.acts import ACTS
from postroom.questions.doors.tasks import TASKS, ClientForms, QuestionTasks, shown_before
from postroom.questions.model import Said
from postroom.questions.questions import Asking
from postroom.questions.rules.request import MAX_DEADLINE_SECONDS, QuestionRequest
from postroom.questions.shapes import HeardAnswer, QuestionView
from postroom.questions.telling import Progress

ASK_TOOLS: Final = tuple(one.declared.tool.name for one in ACTS if one.declared.tool is not None)
LONG_TOOLS: Final = ("ask", "wait")  # these wait for people
Found = QuestionView | InputRequiredResult


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionDesk:
    """
    What the acts of questions work on. `may_answer` is for those whose token is a person's own.

    A client that knows tasks has its handle at once, one that shows forms to its person shows one, all others wait.
    From inside the process and over HTTP there is no client: such a call only waits.
    """

    asking: Asking
    forms: ClientForms
    may_answer: Rule
    new_id: Callable[[], str]

    async def ask(self, call: Call[Any], request: QuestionRequest, wait_seconds: float) -> Found:
        who, asking, seconds = call.caller, self.asking, _seconds(call, wait_seconds)
        client = self._client_with_forms(call, seconds)
        if client is None:
            return await asking.ask(who, request, wait_seconds=seconds, progress=_progress(call, seconds))
        shown = shown_before(client)
        if shown is not None:
            return await self._shown(call, client, await asking.read(who, shown.ask_id), seconds)
        view = await asking.ask(who, request, wait_seconds=0)
        return await self._shown(call, client, view, seconds) if view.question.is_open else view

    async def wait(self, call: Call[Any], ask_id: str | None, key: str | None, wait_seconds: float) -> Found:
        seconds = _seconds(call, wait_seconds)
        client = self._client_with_forms(call, seconds)
        view = await self.asking.wait(
            call.caller,
            ask_id=ask_id,
            key=key,
            wait_seconds=0 if client else seconds,
            progress=None if client else _progress(call, seconds),
        )
        if client is None or not (view.question.is_open or shown_before(client)):
            return view
        return await self._shown(call, client, view, seconds)

    async def answer(self, call: Call[Any], ask_id: str, said: Said, channel: str, revision: int | None) -> HeardAnswer:
        if not self.may_answer(call.caller):
            raise Refused(Code.POLICY_DENIED, f"{call.caller} may not do this")
        event_id = call.reserved_id or self.new_id()
        return await self.asking.answer(
            call.caller, ask_id, said, channel=channel, event_id=event_id, revision=revision
        )

    async def _shown(self, call: Call[Any], client: Context[Any, Any], view: QuestionView, seconds: float) -> Found:
        who, question = call.caller, view.question
        if is_newer(client.request_context):
            to_show = await self.forms.next_round(client, who, question)
            return to_show or await self._waited(call, view, seconds)
        async with self.forms.beside(client, who, question):
            return await self._waited(call, view, seconds)

    async def _waited(self, call: Call[Any], view: QuestionView, seconds: float) -> QuestionView:
        waited = await self.asking.wait(
            call.caller, ask_id=view.question.id, wait_seconds=seconds, progress=_progress(call, seconds)
        )
        return replace(waited, joined=view.joined)

    def _client_with_forms(self, call: Call[Any], seconds: float) -> Context[Any, Any] | None:
        """One that does not wait has no time to show anything."""
        client = call.context
        if not isinstance(client, Context) or not seconds or not self.forms.people(call.caller):
            return None
        return client if shows_forms(client.request_context) else None


def _seconds(call: Call[Any], wait_seconds: float) -> float:
    is_task = isinstance(call.context, Context) and declares(call.context.request_context, TASKS)
    return 0 if is_task else wait_seconds


def _progress(call: Call[Any], wait_seconds: float) -> Progress | None:
    """Goes to those who gave a token for it, and to no others."""
    client = call.context
    if not isinstance(client, Context):
        return None

    async def report(waited_seconds: float) -> None:
        await client.report_progress(waited_seconds, wait_seconds, "no person has answered yet")

    return report


def add_ask_tools(server: GuardedServer, desk: QuestionDesk, state_key: bytes, without: Collection[str] = ()) -> None:
    """`without` are tools that are not here; `state_key` seals what clients keep for us."""
    verifier = server.policy.verifier

    def name_of(context: ServerRequestContext[Any, Any]) -> str | None:
        principal: Principal | None = caller_of(context, verifier)
        return None if principal is None else str(principal)

    add_tools(server, [one for one in ACTS if one.declared.tool and one.declared.tool.name not in without], desk)
    add_extension(server, QuestionTasks(desk.forms, verifier, LONG_TOOLS))
    keep_request_state(server, state_key, MAX_DEADLINE_SECONDS, name_of)


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
