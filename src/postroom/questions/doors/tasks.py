"""The Tasks extension of MCP: `ask` hands out its question as a task, which any process answers for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import Context, require_client_extension
from mcp.shared.exceptions import MCPError
from mcp_types import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    RequestParams,
)
from pydantic import ValidationError

from postroom.kernel.acts.tools import with_words
from postroom.kernel.guard.http import Verifier
from postroom.kernel.guard.tools import Rule, caller_of
from postroom.kernel.serving import REVISION
from postroom.kernel.serving.mcp import contradicts, declares, shows_forms
from postroom.kernel.values.errors import PostroomError, Refused
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import Principal, person_id_of
from postroom.message.inbound import Assurance
from postroom.questions.acts import WaitForAsk
from postroom.questions.model import Question, QuestionKind, QuestionStatus, Said, VerdictKind, Wording
from postroom.questions.questions import Asking
from postroom.questions.rules.cards import made
from postroom.questions.rules.judge import may_answer
from postroom.questions.rules.reading import MAX_ANSWER_CHARACTERS
from postroom.questions.rules.words import asking_words, is_hidden
from postroom.questions.shapes import ask_body

TASKS: Final = "io.modelcontextprotocol/tasks"
_POLL_MS: Final = 2000
_DAY_MS: Final = 24 * 60 * 60 * 1000  # a question is kept for at least so long after its end
_WAITS: Final = "No person has answered yet."
_SHOWN: Final = "No person has answered yet. The form is one of the places where they can."
_NEWER: Final = frozenset({REVISION})
_MOST_CLOSED: Final = 1000
_Call = ServerRequestContext[Any, Any]


def _task_shape(question: Question, *, shows_form: bool = False, said: str = "") -> dict[str, Any]:
    """`said` is what there is to say of its end."""
    moments = (question.created_at_us, question.reminded_at_us, question.escalated_at_us, question.ended_at_us)
    return {
        "taskId": question.id,
        "status": _status(question.status, shows_form=shows_form),
        "statusMessage": said or (_SHOWN if shows_form else _WAITS),
        "createdAt": to_text(question.created_at_us),
        "lastUpdatedAt": to_text(max(at for at in moments if at is not None)),
        "ttlMs": (question.expires_at_us - question.created_at_us) // 1000 + _DAY_MS,
        "pollIntervalMs": _POLL_MS,
    }


def _status(status: QuestionStatus, *, shows_form: bool) -> str:
    """That time ran out, or that a person would rather not, is a result and no failure."""
    match status:
        case QuestionStatus.OPEN:
            return "input_required" if shows_form else "working"
        case QuestionStatus.CANCELLED:
            return "cancelled"
        case _:
            return "completed"


class TaskCall(RequestParams):
    task_id: str


class TaskUpdate(TaskCall):
    input_responses: dict[str, Any]


class QuestionTasks(Extension):
    """
    A task is the question itself, under its id: stored before its handle is given away.

    Only the caller that asked sees it. `_closed` are forms that a client closed without a word; a new process
    offers them once more, under the key by which clients know them.
    """

    identifier = TASKS

    def __init__(self, forms: ClientForms, verifier: Verifier, tools: Sequence[str]) -> None:
        self._forms = forms
        self._asking = forms.asking
        self._verifier = verifier
        self._tools = frozenset(tools)
        self._closed: dict[tuple[str, str], None] = {}

    def methods(self) -> Sequence[MethodBinding]:
        return (
            MethodBinding("tasks/get", TaskCall, self._get, _NEWER),
            MethodBinding("tasks/update", TaskUpdate, self._update, _NEWER),
            MethodBinding("tasks/cancel", TaskCall, self._cancel, _NEWER),
        )

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: _Call, call_next: CallNext
    ) -> HandlerResult:
        result = await call_next(ctx)
        only_looks = params.name == "wait" and (params.arguments or {}).get("wait_seconds") == 0
        if params.name not in self._tools or only_looks or not declares(ctx, TASKS):
            return result
        question = await self._behind(ctx, result)
        return result if question is None else {"resultType": "task", **_task_shape(question)}

    async def _get(self, ctx: _Call, params: TaskCall) -> HandlerResult:
        who, question = await self._own(ctx, params)
        if question.is_open:
            return await self._open(ctx, who, question)
        view = await self._asking.wait(who, ask_id=question.id, wait_seconds=0)
        shown = ask_body(view).model_dump(mode="json")
        task = _task_shape(view.question, said=shown["next"])
        dumped = with_words(WaitForAsk.in_words(shown), shown).model_dump(by_alias=True, mode="json", exclude_none=True)
        return task if task["status"] == "cancelled" else {**task, "result": dumped}

    async def _open(self, ctx: _Call, who: Principal, question: Question) -> dict[str, Any]:
        if not shows_forms(ctx) or not self._forms.shows(who, question):
            return _task_shape(question)
        key, problem = await self._form(question)
        if (question.id, key) in self._closed:
            return _task_shape(question)
        request = await self._forms.request(who, question, problem)
        shown = request.model_dump(by_alias=True, mode="json", exclude_none=True)
        return {**_task_shape(question, shows_form=True), "inputRequests": {key: shown}}

    async def _update(self, ctx: _Call, params: TaskUpdate) -> HandlerResult:
        """What answers no open form is passed over."""
        who, question = await self._own(ctx, params)
        key, _ = await self._form(question)
        if key in params.input_responses:
            said = _read(key, params.input_responses)
            if await self._forms.hear(who, question, said, key) is None:
                self._close(question.id, key)
        return {}

    async def _cancel(self, ctx: _Call, params: TaskCall) -> HandlerResult:
        who, question = await self._own(ctx, params)
        await self._asking.cancel(who, question.id)
        return {}

    async def _behind(self, ctx: _Call, result: HandlerResult) -> Question | None:
        """The open question of this caller's own that a tool tells of."""
        shown = (result.structured_content or {}) if isinstance(result, CallToolResult) else {}
        who = caller_of(ctx, self._verifier)
        if shown.get("status") != "open" or who is None:
            return None
        question = (await self._asking.read(who, shown["ask_id"])).question
        return question if question.asker == str(who) and question.is_open else None

    async def _own(self, ctx: _Call, params: TaskCall) -> tuple[Principal, Question]:
        """Raises MCPError; a task of others is as unknown as one that never was."""
        require_client_extension(ctx, TASKS)
        if contradicts(ctx, params.task_id):
            raise MCPError(code=HEADER_MISMATCH, message="the Mcp-Name header does not match taskId")
        who = caller_of(ctx, self._verifier)
        if who is None:
            raise MCPError(code=INVALID_REQUEST, message="a valid token is required")
        try:
            question = (await self._asking.read(who, params.task_id)).question
        except Refused:
            raise _unknown() from None
        if question.asker != str(who) or question.subject is not None:
            raise _unknown()
        return who, question

    async def _form(self, question: Question) -> tuple[str, str]:
        """The key of the form that is open now, which is never used twice, and what was wrong with the one before."""
        tried = [one for one in await self._asking.store.attempts(question.id) if one.attempt.channel == CHANNEL]
        number = len(tried) + question.revision
        problem = tried[-1].verdict if tried else None
        told = problem.reason if problem and problem.kind is VerdictKind.INVALID else ""
        return (ANSWER if number == 1 else f"{ANSWER}-{number}"), told

    def _close(self, question_id: str, key: str) -> None:
        self._closed[question_id, key] = None
        if len(self._closed) > _MOST_CLOSED:
            del self._closed[next(iter(self._closed))]


def _read(key: str, responses: Mapping[str, Any]) -> ElicitResult:
    try:
        return ElicitResult.model_validate(responses[key])
    except ValidationError:
        message = f"inputResponses.{key} must be the result of an elicitation"
        raise MCPError(code=INVALID_PARAMS, message=message) from None


def _unknown() -> MCPError:
    return MCPError(code=INVALID_PARAMS, message="there is no such task")


# A question as a form in a person's own client: one more place where it is shown, never the truth about it.


ANSWER: Final = "answer"
CHANNEL: Final = "client"
_FORM_KEYS: Final = ("type", "properties", "required")  # all that clients know
_MOST_TIMES: Final = 3  # that one call shows it, so that a program that answers by itself comes to an end


def _may_be_a_form(question: Question) -> bool:
    """
    No permission, no secret and nothing that is hidden from screens is put into a program's hands.

    What the household asks by itself, and what is to be shown at named places only, is asked there.
    """
    is_plain = question.subject is None and question.channels is None and not is_hidden(question)
    return is_plain and question.wording.kind is not QuestionKind.APPROVE


def _form_words(question: Question, zone: str, problem: str = "") -> str:
    return asking_words(question, zone, listed=False, how=problem).plain


def _form_schema(wording: Wording) -> dict[str, Any]:
    """It has always a field: a form without one is accepted by programs with no person near."""
    if wording.kind is QuestionKind.FORM:
        form = wording.form or {}
        return {key: form[key] for key in _FORM_KEYS if key in form}
    return {"type": "object", "properties": {ANSWER: _field(wording)}, "required": [ANSWER]}


def _field(wording: Wording) -> dict[str, Any]:
    if wording.kind is QuestionKind.TEXT:
        return {"type": "string", "title": "Answer", "minLength": 1, "maxLength": MAX_ANSWER_CHARACTERS}
    offered = [{"const": one.value, "title": one.label} for one in wording.options]
    if wording.multiple:
        return {"type": "array", "title": "Answer", "items": {"anyOf": offered}, "minItems": 1}
    return {"type": "string", "title": "Answer", "oneOf": offered}


def _said_in(wording: Wording, content: Mapping[str, Any]) -> Said:
    """What makes no sense is an answer that will be refused."""
    if wording.kind is QuestionKind.FORM:
        return Said(fields=dict(content))
    answer = content.get(ANSWER)
    if wording.multiple:
        return Said(selected=tuple(map(str, answer)) if isinstance(answer, list) else ())
    word = answer if isinstance(answer, str) else ""
    return Said(text=word) if wording.kind is QuestionKind.TEXT else Said(value=word)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientForms:
    """
    `people`: whose own tokens may answer. Programs and butlers ask, and whoever asks does not answer.

    That a person filled a form in, only the client says: it decides nothing, and is the least certain of all answers.
    """

    asking: Asking
    people: Rule
    zone_of: Callable[[str], str]

    def shows(self, who: Principal, question: Question) -> bool:
        return self._is_theirs(who, question) and may_answer(who, question, self.asking.clock.now_us())

    async def hear(self, who: Principal, question: Question, said: ElicitResult, event: str) -> str | None:
        """
        What is wrong with it, for the person to see; None when there is nothing more to show.

        Declined, cancelled and empty forms are no one's word: they close the form and leave the question open.
        """
        if said.action != "accept" or not said.content or not self._is_theirs(who, question):
            return None
        try:
            heard = await self.asking.answer(
                who,
                question.id,
                _said_in(question.wording, said.content),
                channel=CHANNEL,
                event_id=f"{event}:{question.revision}:{_digest(said.content)}",
                revision=question.revision,
                assurance=Assurance.LOW,
            )
        except PostroomError as error:
            return error.message
        return heard.verdict.reason if heard.verdict.kind is VerdictKind.INVALID else None

    @asynccontextmanager
    async def beside(self, call: Context[Any, Any], who: Principal, question: Question) -> AsyncIterator[None]:
        """For the older protocol: shown while the caller waits; whatever ends the waiting takes the form away."""
        if not self.shows(who, question):
            yield
            return
        showing = asyncio.create_task(self._show(call, who, question))
        try:
            yield
        finally:
            showing.cancel()
            await asyncio.wait({showing})

    async def next_round(
        self, call: Context[Any, Any], who: Principal, question: Question
    ) -> InputRequiredResult | None:
        """For the newer protocol: what the client is to show before it calls again; None when it is to wait."""
        shown, said = shown_before(call), (call.input_responses or {}).get(ANSWER)
        if shown is None or not isinstance(said, ElicitResult):
            return await self._round(who, question) if self.shows(who, question) else None
        before = _in_the_wording(question, shown)
        problem = await self.hear(who, before, said, "form") if before else "The question has changed."
        now = (await self.asking.read(who, question.id)).question
        return await self._round(who, now, problem) if problem is not None and self.shows(who, now) else None

    async def _show(self, call: Context[Any, Any], who: Principal, question: Question) -> None:
        problem: str | None = ""
        with suppress(MCPError):  # the client cannot, after all
            for _ in range(_MOST_TIMES):
                said = await call.session.elicit_form(
                    await made(question, _form_words, question, self._zone(who), problem or ""),
                    _form_schema(question.wording),
                    related_request_id=call.request_context.request_id,
                )
                problem = await self.hear(who, question, said, "form")
                question = (await self.asking.read(who, question.id)).question
                if problem is None or not self.shows(who, question):
                    return

    async def request(self, who: Principal, question: Question, problem: str = "") -> ElicitRequest:
        words = await made(question, _form_words, question, self._zone(who), problem)
        schema = _form_schema(question.wording)
        return ElicitRequest(params=ElicitRequestFormParams(message=words, requested_schema=schema))

    async def _round(self, who: Principal, question: Question, problem: str | None = "") -> InputRequiredResult:
        state = json.dumps([question.id, question.revision])
        requests = {ANSWER: await self.request(who, question, problem or "")}
        return InputRequiredResult(input_requests=dict(requests), request_state=state)

    def _zone(self, who: Principal) -> str:
        return self.zone_of(person_id_of(who) or "")

    def _is_theirs(self, who: Principal, question: Question) -> bool:
        person_id = person_id_of(who)
        return person_id is not None and self.people(who) and question.asks(person_id) and _may_be_a_form(question)


@dataclass(frozen=True, slots=True)
class ShownBefore:
    """What the last round of a call showed."""

    ask_id: str
    revision: int


def shown_before(call: Context[Any, Any]) -> ShownBefore | None:
    """The state is sealed, so what is in it is what we wrote."""
    state = call.request_state
    return None if state is None else ShownBefore(*json.loads(state))


def _in_the_wording(question: Question, shown: ShownBefore) -> Question | None:
    return question if (question.id, question.revision) == (shown.ask_id, shown.revision) else None


def _digest(content: Any) -> str:
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
