"""The one shape in which every door tells what became of a question, and what doors check of a call before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastapi.responses import JSONResponse
from mcp_types import CallToolResult, TextContent

from postroom.kernel.values.errors import PostroomError, Refused, ValidationError, error_answer, failure_document
from postroom.kernel.values.fields import Fields, strict_json
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import MAX_KEY_CHARACTERS
from postroom.message.attachment import file_shape
from postroom.message.wire import argument_error
from postroom.questions.model import (
    BY_DEFAULT,
    AnsweredBy,
    Presentation,
    PresentationStatus,
    Question,
    QuestionAnswer,
    QuestionStatus,
)
from postroom.questions.questions import KeyReused, TooManyOpen
from postroom.questions.rules.request import check_wait
from postroom.questions.telling import QuestionView

_MAX_ID_CHARACTERS: Final = 64
_MAX_REASON_CHARACTERS: Final = 500
_MAX_CURSOR_CHARACTERS: Final = 64
_DEFAULT_PAGE: Final = 50
_NOT_SHOWN: Final = "not_shown"
_STILL_OPEN: Final = (
    "Not answered yet. Call wait with this ask_id to go on waiting; do not ask again and do not make up an answer."
)


# ---- what callers send; every wrong field is named as the caller wrote it ----


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitCall:
    ask_id: str | None
    key: str | None
    wait_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCall:
    since: str | None
    limit: int


def given(**arguments: Any) -> dict[str, Any]:
    """What is null or an empty text was not given."""
    return {name: value for name, value in arguments.items() if value is not None and value != ""}


def check_wait_call(arguments: Mapping[str, Any]) -> WaitCall:
    fields = Fields(arguments, whole="arguments")
    call = WaitCall(
        ask_id=fields.optional_text("ask_id", maximum=_MAX_ID_CHARACTERS),
        key=fields.optional_text("idempotency_key", maximum=MAX_KEY_CHARACTERS),
        wait_seconds=check_wait(fields),
    )
    fields.finish()
    return call


def check_page_call(arguments: Mapping[str, Any]) -> PageCall:
    """The bounds of `limit` and what a cursor looks like are the work's to judge."""
    fields = Fields(arguments, whole="arguments")
    limit = arguments.get("limit", _DEFAULT_PAGE)
    if isinstance(limit, bool) or not isinstance(limit, int):
        fields.complain("limit", "must be a whole number", "number_required")
    since = fields.optional_text("since", maximum=_MAX_CURSOR_CHARACTERS)
    fields.finish()
    return PageCall(since=since, limit=limit)


def check_id(arguments: Mapping[str, Any]) -> str:
    fields = Fields(arguments, whole="arguments")
    ask_id = fields.text("ask_id", maximum=_MAX_ID_CHARACTERS)
    fields.finish()
    return ask_id.strip()


def check_reason(arguments: Mapping[str, Any]) -> str | None:
    fields = Fields(arguments, whole="arguments")
    fields.refuse_unknown(("reason",))
    reason = fields.optional_text("reason", maximum=_MAX_REASON_CHARACTERS)
    fields.finish()
    return reason


# ---- a question: for agents what became of it, for people also what was asked ----


def document(view: QuestionView) -> dict[str, Any]:
    """For MCP, REST, the command line, webhooks and streams alike; what a caller may not see is not in their view."""
    return answer_shape(view.question, view.presentations, joined=view.joined)


def shown(view: QuestionView) -> dict[str, Any]:
    """The same with what was asked, for those who look at questions that they have not asked themselves."""
    return document(view) | {"asked": _asked(view.question)}


def _asked(question: Question) -> dict[str, Any]:
    wording = question.wording
    return {
        "question": wording.question,
        "kind": str(wording.kind),
        "context": wording.context,
        "format": str(wording.format),
        "options": [
            {"value": one.value, "label": one.label, "description": one.description} for one in wording.options
        ],
        "multiple": wording.multiple,
        "form": dict(wording.form) if wording.form else None,
        "allow_text": wording.allow_text,
        "secret": wording.secret,
        "urgency": str(question.urgency),
        "asked_by": question.asker,
        "asked_at": to_text(question.created_at_us),
        "to": [{"person_id": person.id, "name": person.name} for person in question.people],
        "revision": question.revision,
        "reason": question.reason,
    }


def answer_shape(question: Question, shown: Sequence[Presentation], *, joined: bool = False) -> dict[str, Any]:
    by = question.answered_by
    return {
        "status": str(question.status),
        "ask_id": question.id,
        "idempotency_key": question.key,
        "joined": joined,
        "answer": _answer(question.answer) if question.answer else None,
        "answered_by": _answered_by(by) if by else None,
        "answered_at": to_text(question.ended_at_us) if by and question.ended_at_us is not None else None,
        "expires_at": to_text(question.expires_at_us),
        "presentations": [_presentation(question, one) for one in shown],
        "state": question.state,
        "next": next_sentence(question, shown),
    }


def next_sentence(question: Question, shown: Sequence[Presentation]) -> str:
    """What a model should do now; it always says whether a person acted."""
    name = question.answered_by.name if question.answered_by else "a person"
    match question.status:
        case QuestionStatus.OPEN:
            return _while_open(question, shown)
        case QuestionStatus.ANSWERED if question.wording.secret and question.answer is None:
            return f"{name} answered. The secret is handed out once, by wait, and is not shown here."
        case QuestionStatus.ANSWERED:
            return f"{name} answered. Go on with this answer; do not ask again."
        case QuestionStatus.DECLINED:
            return f"{name} would rather not answer. Go on without it; do not ask again and do not make up an answer."
        case QuestionStatus.EXPIRED if question.answered_by == BY_DEFAULT:
            return "No person answered in time: the answer is the default that was given with the question."
        case QuestionStatus.EXPIRED:
            return "No person answered in time. This is neither a yes nor a no; do not make up an answer."
        case QuestionStatus.CANCELLED:
            return "The question was cancelled before a person answered. This is neither a yes nor a no."
        case QuestionStatus.SUPERSEDED:
            return "Another question took its place. No person answered this one."


def _while_open(question: Question, shown: Sequence[Presentation]) -> str:
    if not shown or not all(_is_not_shown(one) for one in shown):
        return _STILL_OPEN
    reasons = "; ".join(f"{_name(question, one.person_id)}: {one.reason}" for one in shown)
    return (
        f"No person could be shown this question ({reasons}). It waits in the console until it expires; "
        "say so instead of asking again, and do not make up an answer."
    )


def _answer(answer: QuestionAnswer) -> dict[str, Any]:
    return {
        "value": answer.value,
        "text": answer.text,
        "selected": list(answer.selected),
        "fields": dict(answer.fields),
        **({"files": [file_shape(one) for one in answer.files]} if answer.files else {}),
    }


def _answered_by(by: AnsweredBy) -> dict[str, Any]:
    return {"person_id": by.person_id, "name": by.name, "channel": by.channel, "assurance": str(by.assurance)}


def _presentation(question: Question, one: Presentation) -> dict[str, Any]:
    told = {
        "channel": one.channel,
        "person": _name(question, one.person_id),
        "status": _NOT_SHOWN if _is_not_shown(one) else str(one.status),
    }
    return told | ({"reason": one.reason} if one.reason else {})


def _is_not_shown(one: Presentation) -> bool:
    """It could not be, or something holds it up: then the reason says what."""
    return one.status is PresentationStatus.FAILED or (one.status is PresentationStatus.PLANNED and bool(one.reason))


def _name(question: Question, person_id: str) -> str:
    return next((person.name for person in question.people if person.id == person_id), person_id)


# ---- answers of tools, and refusals of all doors ----


def question_result(view: QuestionView) -> CallToolResult:
    shown = document(view)
    return result(f"Question {shown['ask_id']} is {shown['status']}. {shown['next']}", shown)


def refused(error: PostroomError) -> CallToolResult:
    told = _refusal(error)
    return result(f"Nothing was done. {told['error_message']}", told)


def result(said: str, shown: dict[str, Any]) -> CallToolResult:
    """In words what to do next; and the whole once more as text, for clients that show a model nothing else."""
    content = [TextContent(type="text", text=text) for text in (said, strict_json(shown, ensure_ascii=False))]
    return CallToolResult(content=list(content), structured_content=shown)


def _refusal(error: PostroomError) -> dict[str, Any]:
    """For tools."""
    if isinstance(error, ValidationError):
        return argument_error(error) | _existing(error)
    code = {"code": str(error.code)} if isinstance(error, Refused | TooManyOpen) else {}
    return error_answer(error) | {"error_message": error.message} | code


def _existing(error: PostroomError) -> dict[str, str]:
    return {"code": "key_reused", "ask_id": error.ask_id} if isinstance(error, KeyReused) else {}


def reused_key(error: KeyReused) -> JSONResponse:
    """Over HTTP."""
    told = failure_document(error)
    told["error"]["code"] = "key_reused"
    return JSONResponse({**told, **_existing(error)}, status_code=409)
