"""The Tasks extension of MCP: `ask` hands out its question as a task, which any process answers for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import require_client_extension
from mcp.shared.exceptions import MCPError
from mcp_types import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    CallToolRequestParams,
    CallToolResult,
    ElicitResult,
    RequestParams,
)
from pydantic import ValidationError

from postroom.kernel.guard.http import Verifier
from postroom.kernel.guard.tools import caller_of
from postroom.kernel.serving import REVISION
from postroom.kernel.serving.mcp import contradicts, declares, shows_forms
from postroom.kernel.values.errors import Refused
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import Principal
from postroom.questions.mcp.forms import ANSWER, CHANNEL, ClientForms
from postroom.questions.model import Question, QuestionStatus, VerdictKind
from postroom.questions.shapes import question_result

TASKS: Final = "io.modelcontextprotocol/tasks"
_POLL_MS: Final = 2000
_DAY_MS: Final = 24 * 60 * 60 * 1000  # a question is kept for at least so long after its end
_WAITS: Final = "No person has answered yet."
_SHOWN: Final = "No person has answered yet. The form is one of the places where they can."
_NEWER: Final = frozenset({REVISION})
_MOST_CLOSED: Final = 1000
_EVENT: Final = "task:"  # by which an attempt is known as an answer to the form of a task
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
        result = question_result(view)
        task = _task_shape(view.question, said=(result.structured_content or {})["next"])
        dumped = result.model_dump(by_alias=True, mode="json", exclude_none=True)
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
            if await self._forms.hear(who, question, said, f"{_EVENT}{key}") is None:
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
        tried = [
            one
            for one in await self._asking.store.attempts(question.id)
            if one.attempt.channel == CHANNEL and f":{_EVENT}" in one.attempt.provider_event_id
        ]
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
