"""Questions over HTTP: ask, look, wait, change, and answer as a person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import APIRouter, Body, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from postroom.domain.clock import Clock
from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.idempotency_key import MAX_KEY_CHARACTERS
from postroom.domain.question_states import QuestionStatus
from postroom.doors.asks import models
from postroom.doors.asks.answer_route import add_answering
from postroom.doors.asks.arguments import check_reason
from postroom.doors.asks.refusals import reused_key
from postroom.doors.asks.render import shown
from postroom.doors.asks.stream import read_position, stream
from postroom.doors.guard.depends import Caller, IdempotencyKey
from postroom.doors.guard.json_door import JsonRoute, failures
from postroom.doors.guard.tool_policy import Rule
from postroom.doors.guard.while_connected import while_connected
from postroom.system.signal import Signal
from postroom.work.questions.asking import Asking
from postroom.work.questions.feed import QuestionFeed
from postroom.work.questions.questions import KeyReused
from postroom.work.questions.request import check

MAX_WAIT_SECONDS: Final = 60
_REFUSALS: Final = failures(400, 401, 403, 404, 413, 422, 503)
_REUSED: Final[dict[int | str, dict[str, Any]]] = {
    409: {"model": models.ReusedKey, "description": "The key stands for another question"}
}
_OVER: Final = failures(409)
_NOT_KEPT: Final = {"Cache-Control": "no-store"}
Id = Annotated[str, Path(max_length=64)]
WaitQuery = Annotated[float, Query(ge=0, le=MAX_WAIT_SECONDS, description="Seconds to wait for its end.")]
PageLimit = Annotated[int, Query(ge=1, le=200)]
PageCursor = Annotated[str | None, Query(max_length=64, description="`next_cursor` of the page before.")]
Since = Annotated[str | None, Query(max_length=64, description="`cursor` of the page before.")]
LastEventId = Annotated[str | None, Header(alias="Last-Event-ID", max_length=64)]
Object = Annotated[dict[str, Any], Body()]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRouteParts:
    """`signal` rings with every change of a question; `may_answer` is for those whose token is a person's own."""

    asking: Asking
    feed: QuestionFeed
    signal: Signal
    clock: Clock
    mint: Callable[[int], str]
    may_answer: Rule


def ask_router(parts: AskRouteParts) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["asks"], responses=_REFUSALS)
    _add_asking(router, parts)
    _add_stream(router, parts)
    _add_reading(router, parts)
    _add_changing(router, parts)
    add_answering(router, parts.asking, parts.may_answer, lambda: parts.mint(parts.clock.now_us()))
    return router


def _add_asking(router: APIRouter, parts: AskRouteParts) -> None:
    @router.post(
        "/v1/asks",
        operation_id="ask",
        summary="Ask people, once",
        description="As the tool `ask`; 201 when the question is new, 200 when it was there. Does not wait by itself.",
        status_code=201,
        response_model=models.AskBody,
        response_model_exclude_unset=True,
        responses={200: {"model": models.AskBody, "description": "The question was there before"}, **_REUSED},
        openapi_extra=models.ASK_REQUEST,
    )
    async def ask(request: Request, response: Response, body: Object, caller: Caller, key: IdempotencyKey) -> Any:
        asked = check({"wait_seconds": 0, **_kept(body)} | _key(body, key))
        seconds = _bounded(asked.wait_seconds)
        try:
            view = await while_connected(request, parts.asking.ask(caller, asked, wait_seconds=seconds))
        except KeyReused as error:
            return reused_key(error)
        response.status_code = 200 if view.joined else 201
        response.headers.update(_NOT_KEPT)
        return shown(view)


def _add_stream(router: APIRouter, parts: AskRouteParts) -> None:
    @router.get(
        "/v1/asks/stream",
        operation_id="streamAsks",
        summary="What happens to questions, as it happens",
        description="`ask.opened`, `ask.revised`, `ask.answered`, `ask.declined`, `ask.expired`, `ask.cancelled` and "
        "`ask.superseded`, each with the question; of your own, and as a person of those that ask you.",
        response_class=StreamingResponse,
    )
    async def streamed(caller: Caller, last_event_id: LastEventId = None, since: Since = None) -> StreamingResponse:
        position = read_position(last_event_id or since)
        return await stream(parts.feed, caller, position, parts.signal, parts.clock)


def _add_reading(router: APIRouter, parts: AskRouteParts) -> None:
    @router.get(
        "/v1/asks",
        operation_id="listAsks",
        summary="Questions, newest first",
        description="Of an agent what it asked; of a person also what asks them; of the owner all.",
        response_model=models.AskPage,
        response_model_exclude_unset=True,
    )
    async def listed(
        caller: Caller,
        status: QuestionStatus | None = None,
        mine: Annotated[bool, Query(description="Only what asks you, also as the owner.")] = False,
        idempotency_key: Annotated[
            str | None, Query(max_length=MAX_KEY_CHARACTERS, description="Only what you asked under this key.")
        ] = None,
        cursor: PageCursor = None,
        limit: PageLimit = 50,
    ) -> Any:
        if idempotency_key is not None:
            return {
                "asks": [shown(one) for one in await parts.asking.under(caller, idempotency_key)],
                "next_cursor": None,
            }
        found = await parts.asking.listing(caller, status=status, mine=mine, after=cursor, limit=limit)
        asks = [shown(one) for one in found]
        return {"asks": asks, "next_cursor": _next_cursor(asks, limit)}

    @router.get(
        "/v1/asks/{ask_id}",
        operation_id="getAsk",
        summary="One question; with `wait`, when it ends",
        description="A secret is handed to its asker here, once.",
        response_model=models.AskBody,
        response_model_exclude_unset=True,
    )
    async def one(request: Request, response: Response, ask_id: Id, caller: Caller, wait: WaitQuery = 0) -> Any:
        view = await while_connected(request, parts.asking.wait(caller, ask_id=ask_id, wait_seconds=wait))
        response.headers.update(_NOT_KEPT)
        return shown(view)

    @router.get(
        "/v1/answers",
        operation_id="listAnswers",
        summary="What ended of what you asked, in order",
        response_model=models.AnswersBody,
        response_model_exclude_unset=True,
    )
    async def answers(caller: Caller, since: Since = None, limit: PageLimit = 50) -> Any:
        page = await parts.asking.answers(caller, since=since, limit=limit)
        return {"answers": [shown(one) for one in page.views], "cursor": page.cursor}


def _add_changing(router: APIRouter, parts: AskRouteParts) -> None:
    @router.post(
        "/v1/asks/{ask_id}/cancel",
        operation_id="cancelAsk",
        summary="Take a question back",
        response_model=models.AskBody,
        response_model_exclude_unset=True,
        openapi_extra=models.CANCEL_REQUEST,
    )
    async def cancel(ask_id: Id, caller: Caller, body: Annotated[dict[str, Any] | None, Body()] = None) -> Any:
        return shown(await parts.asking.cancel(caller, ask_id, check_reason(body or {})))

    @router.post(
        "/v1/asks/{ask_id}/revise",
        operation_id="reviseAsk",
        summary="Change a question that is open",
        response_model=models.AskBody,
        response_model_exclude_unset=True,
        responses=_OVER,
        openapi_extra=models.REVISE_REQUEST,
    )
    async def revise(ask_id: Id, body: Object, caller: Caller) -> Any:
        return shown(await parts.asking.revise(caller, ask_id, _kept(body)))


def _kept(body: dict[str, Any]) -> dict[str, Any]:
    """An absent value and a null are the same."""
    return {name: value for name, value in body.items() if value is not None}


def _key(body: dict[str, Any], header: str | None) -> dict[str, str]:
    if header is None:
        return {}
    if body.get("idempotency_key") not in (None, header):
        told = "is not the same as in the header Idempotency-Key"
        raise ValidationError.of([FieldError("idempotency_key", told, "key_mismatch")])
    return {"idempotency_key": header}


def _bounded(wait_seconds: float) -> float:
    """Longer than most clients and proxies wait, so nothing is gained by it here."""
    if wait_seconds > MAX_WAIT_SECONDS:
        told = f"must be from 0 to {MAX_WAIT_SECONDS} seconds"
        raise ValidationError.of([FieldError("wait_seconds", told, "out_of_range")])
    return wait_seconds


def _next_cursor(asks: Sequence[dict[str, Any]], limit: int) -> str | None:
    return str(asks[-1]["ask_id"]) if len(asks) == limit else None
