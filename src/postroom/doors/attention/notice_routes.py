"""Notices over HTTP: look at one, see what will happen to it, acknowledge, snooze or withdraw it."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request

from postroom.domain.errors import Code, FieldError, Refused, ValidationError
from postroom.doors.attention import models, schemas
from postroom.doors.attention.acts import AttentionActs
from postroom.doors.attention.arguments import read_key
from postroom.doors.guard.depends import Caller
from postroom.doors.guard.json_door import JsonRoute, failures

REFUSALS: Final = failures(400, 401, 403, 404, 409, 413, 422, 503)
NoticeId = Annotated[str, Path(min_length=1, max_length=64)]
Limit = Annotated[int, Query(ge=1, le=100)]
_EMPTY: Final[dict[str, Any]] = {"type": "object", "additionalProperties": False}


def notice_router(acts: AttentionActs) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["attention"], responses=REFUSALS)
    _add_reading(router, acts)
    _add_acting(router, acts)
    return router


def _add_reading(router: APIRouter, acts: AttentionActs) -> None:
    @router.get("/v1/notices", operation_id="listNotices", summary="A person's notices, newest first")
    async def listed(
        caller: Caller,
        person: Annotated[
            str | None, Query(min_length=1, max_length=128, description="The caller by default; of the owner any.")
        ] = None,
        cell: Annotated[
            str | None, Query(max_length=32, description="held, in_a_digest, sent, waiting or not_sent.")
        ] = None,
        cursor: Annotated[str | None, Query(max_length=64, description="`next_cursor` of the page before.")] = None,
        limit: Limit = 50,
    ) -> models.NoticePage:
        found = await acts.notices(caller, person, cell=cell, limit=limit, before=cursor)
        following = found[-1]["notice_id"] if len(found) == limit else None
        return models.NoticePage(ok=True, notices=found, next_cursor=following)  # type: ignore[arg-type]

    @router.get(
        "/v1/notices/{notice_id}",
        operation_id="getNotice",
        summary="One notice, with every decision about it; of an agent its own",
    )
    async def one(notice_id: NoticeId, caller: Caller) -> models.WholeNoticeAnswer:
        return models.WholeNoticeAnswer(ok=True, notice=await acts.notice(caller, notice_id))  # type: ignore[arg-type]

    @router.get(
        "/v1/notices/{notice_id}/plan",
        operation_id="planNotice",
        summary="What will happen to a notice if no one does anything",
    )
    async def plan(notice_id: NoticeId, caller: Caller) -> models.PlanAnswer:
        return models.PlanAnswer(plan=await acts.notice_plan(caller, notice_id))  # type: ignore[arg-type]


def _add_acting(router: APIRouter, acts: AttentionActs) -> None:
    @router.post(
        "/v1/notices/{notice_id}/ack",
        operation_id="acknowledgeNotice",
        summary="Say that you have seen it, as the person it is for; twice is fine",
        openapi_extra=schemas.body(_EMPTY, required=False),
    )
    async def ack(request: Request, notice_id: NoticeId, caller: Caller) -> models.NoticeAnswer:
        nothing_but(await read_body(request))
        return _answer(await acts.ack(caller, notice_id))

    @router.post(
        "/v1/notices/{notice_id}/snooze",
        operation_id="snoozeNotice",
        summary="Show it later, as the person it is for; an hour, unless it says otherwise",
        openapi_extra=schemas.body(schemas.SNOOZE_BODY, required=False),
    )
    async def snooze(request: Request, notice_id: NoticeId, caller: Caller) -> models.NoticeAnswer:
        return _answer(await acts.snooze(caller, notice_id, await read_body(request)))

    @router.post(
        "/v1/notices/{notice_id}/withdraw",
        operation_id="withdrawNotice",
        summary="Take a notice of your own back; one that has left is recalled where the channel can",
        openapi_extra=schemas.body(_EMPTY, required=False),
    )
    async def withdraw(request: Request, notice_id: NoticeId, caller: Caller) -> models.NoticeAnswer:
        nothing_but(await read_body(request))
        return _answer(await acts.withdraw(caller, notice_id))

    @router.post(
        "/v1/notices/withdraw",
        operation_id="withdrawNotices",
        summary="Take back all that you sent with `supersedes` = `key`, also what has not come yet",
        openapi_extra=schemas.body(schemas.WITHDRAW_BODY),
    )
    async def withdraw_key(request: Request, caller: Caller) -> models.NoticesAnswer:
        found = await acts.withdraw_key(caller, read_key(await read_body(request)))
        return models.NoticesAnswer(ok=True, notices=found)  # type: ignore[arg-type]


async def read_body(request: Request) -> Any:
    """No body is an empty one."""
    written = await request.body()
    try:
        return json.loads(written) if written.strip() else {}
    except (ValueError, RecursionError):
        raise Refused(Code.INVALID_JSON, "the body is not JSON") from None


def nothing_but(body: Any) -> None:
    if body != {}:
        raise ValidationError.of([FieldError("body", "must be empty", "unknown_field")])


def _answer(notice: dict[str, Any]) -> models.NoticeAnswer:
    return models.NoticeAnswer(ok=True, notice=models.NoticeBody(**notice))
