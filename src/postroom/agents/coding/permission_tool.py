"""`permission_prompt`: what headless Claude Code calls (--permission-prompt-tool) before it uses a tool."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, TextContent, ToolAnnotations

from postroom.agents.coding import card as agent_card
from postroom.agents.coding.card import AgentAsk, AgentCard, AgentWish, JsonObject, TooLong, answers_of, permission_of
from postroom.kernel.acts.declaration import Act, act, words_of
from postroom.kernel.acts.reading import Whatever, arguments_schema, judged, made, read
from postroom.kernel.guard.tools import GuardedServer, Inside, caller
from postroom.kernel.serving.mcp import unchecked_tool
from postroom.kernel.text.visible import reveal
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.fields import text_problem
from postroom.kernel.values.principal import EVERYONE, PEOPLE, Principal
from postroom.questions.acts import AskPeople
from postroom.questions.model import Question, QuestionAnswer
from postroom.questions.questions import Asking
from postroom.questions.telling import Progress

PERMISSION_TOOL: Final = "permission_prompt"
_WAIT_SECONDS: Final = 3600.0  # shorter than any client's own limit while progress is reported
_WHO: Final = "Claude Code"
_IN_VAIN: Final = "not answered in time; the agent heard that it may not"
_ASKS: Final = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=True)


@act(by=EVERYONE - PEOPLE)
class PermissionPrompt(Act[None]):
    """
    For Claude Code itself, not for you: `claude -p --permission-prompt-tool mcp__postroom__permission_prompt`. Asks the
    person on their phone whether a tool may be used with this input and answers in the client's own shape. To ask a
    person something yourself, call `ask`.
    """

    tool_name: Whatever = judged("The tool that is to be used", type="string")
    input: Whatever = judged("What it is to be used with", type="object")
    tool_use_id: Whatever = judged("Of this very use: the same is asked once", type="string")

    @property
    def wish(self) -> AgentWish | None:
        if not isinstance(self.tool_name, str) or not self.tool_name or not isinstance(self.input, dict):
            return None
        return AgentWish(who=_WHO, tool=self.tool_name, tool_input=self.input)

    @property
    def key(self) -> str | None:
        """Without an id of the use, an open question that is the same is joined."""
        if not isinstance(self.tool_use_id, str) or not self.tool_use_id or text_problem(self.tool_use_id):
            return None
        said = json.dumps([self.tool_use_id, self.tool_name, self.input], sort_keys=True)
        return f"permit:{hashlib.sha256(said.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}"


def add_permission_tool(server: GuardedServer, asking: Asking) -> None:
    """Its caller is a program of another author, which may say more with its next version."""

    async def permission_prompt(arguments: JsonObject, context: Context[Any, Any] | Inside) -> CallToolResult:
        known = {name: value for name, value in arguments.items() if name in PermissionPrompt.model_fields}
        one, _ = read(PermissionPrompt, known)
        who = caller(context, server.policy.verifier)
        said = await _answered(Asker(asking=asking, who=who, key=one.key, progress=_progress(context)), one.wish)
        return CallToolResult(content=[TextContent(type="text", text=json.dumps(said, ensure_ascii=False))])

    tool = unchecked_tool(
        permission_prompt,
        name=PERMISSION_TOOL,
        description=words_of(PermissionPrompt),
        parameters=arguments_schema(PermissionPrompt) | {"additionalProperties": True},
        annotations=_ASKS,
    )
    server.add_made(tool, lambda one: PermissionPrompt.declared.admits(one, None))


async def _answered(asker: Asker, wish: AgentWish | None) -> JsonObject:
    """Always one of the two answers that the client knows: there is no abstaining here, so every doubt is a no."""
    if wish is None:
        return _denied("Postroom could not ask: tool_name and input are required.")
    try:
        return await asker.decided(wish)
    except TooLong:
        return _denied("No person was asked: this is too long to be shown whole on a phone. Do it in smaller steps.")
    except PostroomError as error:
        return _denied(f"No person could be asked: {error.message}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """`key` is of this use of the tool; the same again joins."""

    asking: Asking
    who: Principal
    key: str | None
    progress: Progress | None
    wait_seconds: float = _WAIT_SECONDS

    async def decided(self, wish: AgentWish) -> JsonObject:
        match wish.tool:
            case agent_card.QUESTIONS:
                return await self._questions(wish)
            case agent_card.PLAN:
                return await self._permission(wish, agent_card.plan(wish, reveal))
            case _:
                return await self._permission(wish, agent_card.permission(wish, reveal))

    async def _permission(self, wish: AgentWish, card: AgentCard) -> JsonObject:
        ended = await self._over([card])
        if (silence := _silence(ended)) is not None:
            return _denied(silence)
        said = permission_of(ended[0])
        if said is None:
            return _denied("The answer came in a way that anyone could have written, so it allows nothing.")
        return _allowed(wish.tool_input) if said.allowed else _denied(said.why)

    async def _questions(self, wish: AgentWish) -> JsonObject:
        """Never an empty answer: the model would take it for the person's."""
        cards = agent_card.questions(wish, reveal)
        ended = await self._over(cards) if cards else []
        if (silence := _silence(ended)) is not None:
            return _denied(silence)
        words = answers_of(wish.tool_input, ended)
        return (
            _denied("There was nothing to ask.") if words is None else _allowed({**wish.tool_input, "answers": words})
        )

    async def _over(self, cards: Sequence[AgentCard]) -> list[AgentAsk]:
        """All are shown at once; what is not answered in time is taken back, for no one waits for it any more."""
        asking, deadline = self.asking, max(30, self.wait_seconds)
        opened = []
        for place, card in enumerate(cards):
            key = {} if self.key is None else {"idempotency_key": f"{self.key}:{place}"}
            asked = made(AskPeople, **card.body, **key, deadline_seconds=deadline)
            opened.append(await asking.ask(self.who, asked.request(), wait_seconds=0))
        over, left = [], self.wait_seconds
        for one in opened:
            began_us = asking.clock.now_us()
            view = await asking.wait(self.who, ask_id=one.question.id, wait_seconds=left, progress=self.progress)
            left = max(0.0, left - (asking.clock.now_us() - began_us) / 1_000_000)
            ended = await asking.cancel(self.who, one.question.id, _IN_VAIN) if view.question.is_open else view
            over.append(_ask_of(ended.question))
        return over


def _ask_of(question: Question) -> AgentAsk:
    by, answer = question.answered_by, question.answer or QuestionAnswer()
    return AgentAsk(
        ask_id=question.id,
        status=str(question.status),
        by=by.name if by else "",
        channel=by.channel if by else "",
        assurance=str(by.assurance) if by else "",
        value=answer.value,
        selected=answer.selected,
        text=answer.text or "",
    )


def _silence(ended: Sequence[AgentAsk]) -> str | None:
    """Why there is no answer, in words that no model takes for a person's no."""
    for one in ended:
        match one.status:
            case "answered":
                continue
            case "declined":
                return f"{one.by or 'The person'} would rather not answer."
            case _:
                return (
                    "No person answered in time. This is not a refusal by a person, and nothing was allowed: go on "
                    "without it, or stop and say what you were waiting for."
                )
    return None


def _allowed(tool_input: JsonObject) -> JsonObject:
    return {"behavior": "allow", "updatedInput": tool_input}


def _denied(why: str) -> JsonObject:
    return {"behavior": "deny", "message": why}


def _progress(context: Context[Any, Any] | Inside) -> Progress | None:
    if isinstance(context, Inside):
        return None

    async def report(waited_seconds: float) -> None:
        await context.report_progress(waited_seconds, _WAIT_SECONDS, "the person has not decided yet")

    return report
