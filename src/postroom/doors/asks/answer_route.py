"""A person's answer over HTTP: their own token says who they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, assert_never

from fastapi import APIRouter, Body, Depends, Path, Query
from fastapi.responses import JSONResponse

from postroom.domain.answer_attempt import Verdict, VerdictKind
from postroom.domain.error_shapes import failure_document
from postroom.domain.errors import Code, FieldError, Refused, ValidationError
from postroom.doors.asks import models
from postroom.doors.asks.render import shown
from postroom.doors.guard.depends import Caller, ReservedId, allowing
from postroom.doors.guard.tool_policy import Rule
from postroom.work.questions.asking import Asking
from postroom.work.questions.given import check_given
from postroom.work.questions.view import HeardAnswer

CHANNEL: Final = "api"
Place = Annotated[
    Literal["api", "desk"], Query(description="Where the person answers; a secret is taken from the desk.")
]
Revision = Annotated[
    int | None, Query(ge=1, description="Of the wording they had before them; an older one answers nothing.")
]
_OVER: Final[dict[int | str, dict[str, Any]]] = {
    409: {"model": models.EndedFirst, "description": "It has ended before; here is how"}
}


def add_answering(router: APIRouter, asking: Asking, may_answer: Rule, new_id: Callable[[], str]) -> None:
    @router.post(
        "/v1/asks/{ask_id}/answer",
        operation_id="answerAsk",
        summary="Answer, or rather not, as the person who was asked",
        response_model=models.AskBody,
        response_model_exclude_unset=True,
        responses=_OVER,
        openapi_extra=models.ANSWER_REQUEST,
        dependencies=[Depends(allowing(may_answer))],
    )
    async def answer(
        ask_id: Annotated[str, Path(max_length=64)],
        body: Annotated[dict[str, Any], Body()],
        person: Caller,
        reserved_id: ReservedId,
        channel: Place = CHANNEL,
        revision: Revision = None,
    ) -> Any:
        event_id, given = reserved_id or new_id(), check_given(body)
        heard = await asking.answer(person, ask_id, given, channel=channel, event_id=event_id, revision=revision)
        return _answer(heard, body)


def _answer(heard: HeardAnswer, body: Mapping[str, Any]) -> dict[str, Any] | JSONResponse:
    verdict, view = heard.verdict, shown(heard.view)
    match verdict.kind:
        case VerdictKind.ACCEPTED:
            return view
        case VerdictKind.LATE | VerdictKind.LOST_RACE:
            told = failure_document(Refused(Code.ILLEGAL_TRANSITION, verdict.reason))
            return JSONResponse({**told, "ask": view}, status_code=409)
        case VerdictKind.UNAUTHORISED:
            raise Refused(Code.POLICY_DENIED, verdict.reason)
        case VerdictKind.INVALID | VerdictKind.NOT_YET:
            raise _invalid(verdict, next(iter(body)))
        case _:
            assert_never(verdict.kind)


def _invalid(verdict: Verdict, field: str) -> ValidationError:
    return ValidationError.of([FieldError(field, verdict.reason, verdict.code)])
