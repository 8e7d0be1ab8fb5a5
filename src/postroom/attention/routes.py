"""Notices over HTTP, and what a person wants of theirs."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel

from postroom.attention.acts import WEEK_SECONDS, AttentionActs
from postroom.attention.model import DAYS, Preset
from postroom.attention.wire import LONGEST_MUTE, LONGEST_SNOOZE, MINUTE, UNTIL_UNMUTED, read_key
from postroom.kernel.guard.http import Caller
from postroom.kernel.serving.json_door import JsonRoute, failures
from postroom.kernel.values.errors import Code, FieldError, Refused, ValidationError
from postroom.message.wire import MAX_NAME_CHARACTERS
from postroom.message.wishes import URGENCIES

REFUSALS: Final = failures(400, 401, 403, 404, 409, 413, 422, 503)
_LONGEST_REPLAY: Final = 90 * 86_400
_NoticeId = Annotated[str, Path(min_length=1, max_length=64)]
PersonId = Annotated[str, Path(min_length=1, max_length=128, description="`owner` is the owner.")]
Limit = Annotated[int, Query(ge=1, le=100)]
_Replay = Annotated[int, Query(ge=1, le=_LONGEST_REPLAY, description="How far back; a week by default.")]
_ROOT: Final = "/v1/people/{person_id}"


# -- Answers --


class NoticeBody(BaseModel):
    notice_id: str
    person: str
    agent: str
    channel: str
    message: str
    state: str
    cell: str
    urgency: str
    asked_urgency: str
    category: str | None
    thread: str | None
    supersedes: str | None
    needs_ack: bool
    created_at: str
    expires_at: str | None
    until: str | None
    reasons: list[str]


class SendBody(BaseModel):
    kind: str
    at: str
    person: str
    channel: str
    outcome: str | None
    delivery_id: str | None


class WholeNoticeBody(NoticeBody):
    sends: list[SendBody]
    decisions: list[dict[str, Any]]


class NoticeAnswer(BaseModel):
    ok: bool
    notice: NoticeBody


class WholeNoticeAnswer(BaseModel):
    ok: bool
    notice: WholeNoticeBody


class NoticesAnswer(BaseModel):
    ok: bool
    notices: list[NoticeBody]


class NoticePage(BaseModel):
    ok: bool
    notices: list[NoticeBody]
    next_cursor: str | None


class PlanItemBody(BaseModel):
    at: str
    what: str
    where: str | None
    why: list[str]
    unless: str | None


class PlanAnswer(BaseModel):
    plan: list[PlanItemBody]


class PersonPlanItemBody(PlanItemBody):
    notice_id: str


class PersonPlanAnswer(BaseModel):
    plan: list[PersonPlanItemBody]


class PolicyAnswer(BaseModel):
    ok: bool
    person_id: str
    policy: dict[str, Any] | None
    hash: str
    rules: dict[str, Any]
    away: list[dict[str, Any]]


class PreviewAnswer(BaseModel):
    ok: bool
    difference: list[str]
    before: dict[str, int]
    after: dict[str, int]


class FiguresAnswer(BaseModel):
    ok: bool
    person_id: str
    accepted: int
    cells: dict[str, int]
    states: dict[str, int]
    by_agent: dict[str, int]
    unaccounted: list[str]


class MutedAnswer(BaseModel):
    ok: bool
    person_id: str
    muted: dict[str, str | None]
    until: str | None


class UnmutedAnswer(BaseModel):
    ok: bool
    person_id: str
    unmuted: dict[str, str | None]


class AwayAnswer(BaseModel):
    ok: bool
    person_id: str
    away: dict[str, Any] | None


# -- Bodies of requests, for the OpenAPI document --

_TEXT: Final = {"type": "string"}
_URGENCY: Final = {"type": "string", "enum": [str(one) for one in URGENCIES]}
_COUNT: Final = {"type": "integer", "minimum": 0}
_CLOCK: Final = {"type": "string", "examples": ["07:00"]}
_UNTIL: Final = {"type": "string", "description": "RFC 3339 with an offset."}
_EMPTY: Final[dict[str, Any]] = {"type": "object", "additionalProperties": False}


def _object(required: tuple[str, ...] = (), /, **properties: Any) -> dict[str, Any]:
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "additionalProperties": False, **needed, "properties": properties}


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


def _by_name(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": item}


def _schemas_length(most: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": MINUTE, "maximum": most, "description": "Instead of until; one hour."}


_SCHEMAS_WHAT: Final = dict.fromkeys(("agent", "thread", "category"), _TEXT)
_WITHDRAW_BODY: Final = _object(("key",), key={**_TEXT, "maxLength": MAX_NAME_CHARACTERS})
_SNOOZE_BODY: Final = _object(until=_UNTIL, for_seconds=_schemas_length(LONGEST_SNOOZE))
_MUTE_BODY: Final = _object(
    **_SCHEMAS_WHAT,
    until={**_UNTIL, "description": f"RFC 3339 with an offset; of an agent also `{UNTIL_UNMUTED}`."},
    for_seconds=_schemas_length(LONGEST_MUTE),
)
_UNMUTE_BODY: Final = _object(**_SCHEMAS_WHAT)
_AWAY_BODY: Final = _object(
    back={"type": "boolean", "description": "Alone: no longer away."},
    **{"from": {**_UNTIL, "description": "RFC 3339 with an offset; now by default."}},
    until=_UNTIL,
    delegate={**_TEXT, "description": "Who stands in; without one everything waits."},
    let_pass=_list(_URGENCY),
    categories={**_list(_TEXT), "description": "What the delegate may see; everything by default."},
)
POLICY: Final = _object(
    preset={"type": "string", "enum": [str(one) for one in Preset]},
    zone={**_TEXT, "examples": ["Europe/Vienna"]},
    quiet_hours=_list(
        _object(
            ("from", "until"),
            **{"days": _list({"type": "string", "enum": list(DAYS)}), "from": _CLOCK, "until": _CLOCK},
        )
    ),
    let_pass=_list(_URGENCY),
    slots=_list(_CLOCK),
    collect=_object(("window_seconds",), window_seconds=_COUNT, most=_COUNT),
    budget=_object(per_hour=_COUNT, per_day=_COUNT),
    ceiling=_URGENCY,
    agents=_by_name(_object(ceiling=_URGENCY, critical={"type": "boolean"})),
    categories=_by_name(_object(ceiling=_URGENCY)),
    escalation=_list(_object(("after_seconds",), id=_TEXT, after_seconds=_COUNT, channel=_TEXT, person=_TEXT)),
    fallback=_list(_TEXT),
    repeat_seconds=_list(_COUNT),
    duplicate_seconds=_COUNT,
    expires_seconds=_COUNT,
    mandatory=_list(_TEXT),
)


def body(schema: dict[str, Any], *, required: bool = True) -> dict[str, Any]:
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}}


# -- One notice: look at it, see what will happen to it, acknowledge, snooze or withdraw it --


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
    ) -> NoticePage:
        found = await acts.notices(caller, person, cell=cell, limit=limit, before=cursor)
        following = found[-1]["notice_id"] if len(found) == limit else None
        return NoticePage(ok=True, notices=found, next_cursor=following)  # type: ignore[arg-type]

    @router.get(
        "/v1/notices/{notice_id}",
        operation_id="getNotice",
        summary="One notice, with every decision about it; of an agent its own",
    )
    async def one(notice_id: _NoticeId, caller: Caller) -> WholeNoticeAnswer:
        return WholeNoticeAnswer(ok=True, notice=await acts.notice(caller, notice_id))  # type: ignore[arg-type]

    @router.get(
        "/v1/notices/{notice_id}/plan",
        operation_id="planNotice",
        summary="What will happen to a notice if no one does anything",
    )
    async def plan(notice_id: _NoticeId, caller: Caller) -> PlanAnswer:
        return PlanAnswer(plan=await acts.notice_plan(caller, notice_id))  # type: ignore[arg-type]


def _add_acting(router: APIRouter, acts: AttentionActs) -> None:
    @router.post(
        "/v1/notices/{notice_id}/ack",
        operation_id="acknowledgeNotice",
        summary="Say that you have seen it, as the person it is for; twice is fine",
        openapi_extra=body(_EMPTY, required=False),
    )
    async def ack(request: Request, notice_id: _NoticeId, caller: Caller) -> NoticeAnswer:
        _nothing_but(await read_body(request))
        return _answer(await acts.ack(caller, notice_id))

    @router.post(
        "/v1/notices/{notice_id}/snooze",
        operation_id="snoozeNotice",
        summary="Show it later, as the person it is for; an hour, unless it says otherwise",
        openapi_extra=body(_SNOOZE_BODY, required=False),
    )
    async def snooze(request: Request, notice_id: _NoticeId, caller: Caller) -> NoticeAnswer:
        return _answer(await acts.snooze(caller, notice_id, await read_body(request)))

    @router.post(
        "/v1/notices/{notice_id}/withdraw",
        operation_id="withdrawNotice",
        summary="Take a notice of your own back; one that has left is recalled where the channel can",
        openapi_extra=body(_EMPTY, required=False),
    )
    async def withdraw(request: Request, notice_id: _NoticeId, caller: Caller) -> NoticeAnswer:
        _nothing_but(await read_body(request))
        return _answer(await acts.withdraw(caller, notice_id))

    @router.post(
        "/v1/notices/withdraw",
        operation_id="withdrawNotices",
        summary="Take back all that you sent with `supersedes` = `key`, also what has not come yet",
        openapi_extra=body(_WITHDRAW_BODY),
    )
    async def withdraw_key(request: Request, caller: Caller) -> NoticesAnswer:
        found = await acts.withdraw_key(caller, read_key(await read_body(request)))
        return NoticesAnswer(ok=True, notices=found)  # type: ignore[arg-type]


def _answer(notice: dict[str, Any]) -> NoticeAnswer:
    return NoticeAnswer(ok=True, notice=NoticeBody(**notice))


def _nothing_but(body: Any) -> None:
    if body != {}:
        raise ValidationError.of([FieldError("body", "must be empty", "unknown_field")])


async def read_body(request: Request) -> Any:
    """No body is an empty one."""
    written = await request.body()
    try:
        return json.loads(written) if written.strip() else {}
    except (ValueError, RecursionError):
        raise Refused(Code.INVALID_JSON, "the body is not JSON") from None


# -- One person: policy, mute, away, and what became of their notices --


def attention_router(acts: AttentionActs) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["attention"], responses=REFUSALS)
    _add_policy(router, acts)
    _add_looking(router, acts)
    _add_silence(router, acts)
    return router


def _add_policy(router: APIRouter, acts: AttentionActs) -> None:
    @router.get(
        f"{_ROOT}/attention",
        operation_id="getAttention",
        summary="A person's own policy, and what counts for them with the household's",
    )
    async def get(person_id: PersonId, caller: Caller) -> PolicyAnswer:
        return PolicyAnswer(ok=True, **await acts.policy(caller, person_id))

    @router.put(
        f"{_ROOT}/attention",
        operation_id="setAttention",
        summary="Set a person's policy; what is held is judged anew at once",
        openapi_extra=body(POLICY),
    )
    async def put(request: Request, person_id: PersonId, caller: Caller) -> PolicyAnswer:
        return PolicyAnswer(ok=True, **await acts.set_policy(caller, person_id, await _policy(request)))

    @router.delete(
        f"{_ROOT}/attention",
        operation_id="deleteAttention",
        summary="Take a person's own policy away: the household's alone counts",
    )
    async def delete(person_id: PersonId, caller: Caller) -> PolicyAnswer:
        return PolicyAnswer(ok=True, **await acts.set_policy(caller, person_id, None))


def _add_looking(router: APIRouter, acts: AttentionActs) -> None:
    @router.post(
        f"{_ROOT}/attention/preview",
        operation_id="previewAttention",
        summary="What this policy would have changed, over the notices that came; changes nothing",
        openapi_extra=body(POLICY),
    )
    async def preview(
        request: Request, person_id: PersonId, caller: Caller, replay_seconds: _Replay = WEEK_SECONDS
    ) -> PreviewAnswer:
        shown = await acts.preview(caller, person_id, await _policy(request), replay_seconds)
        return PreviewAnswer(ok=True, **shown)

    @router.get(
        f"{_ROOT}/attention/figures",
        operation_id="countNotices",
        summary="How many notices came and where each of them is",
    )
    async def figures(person_id: PersonId, caller: Caller) -> FiguresAnswer:
        return FiguresAnswer(ok=True, **await acts.figures(caller, person_id))

    @router.get(
        f"{_ROOT}/attention/plan",
        operation_id="planPerson",
        summary="What will happen to a person's notices if no one does anything",
    )
    async def plan(person_id: PersonId, caller: Caller) -> PersonPlanAnswer:
        return PersonPlanAnswer(plan=await acts.person_plan(caller, person_id))  # type: ignore[arg-type]


def _add_silence(router: APIRouter, acts: AttentionActs) -> None:
    @router.post(
        f"{_ROOT}/mute",
        operation_id="mute",
        summary="Show nothing of an agent, a thread or a category for a while; an hour by default",
        openapi_extra=body(_MUTE_BODY),
    )
    async def mute(request: Request, person_id: PersonId, caller: Caller) -> MutedAnswer:
        return MutedAnswer(ok=True, **await acts.mute(caller, person_id, await read_body(request)))

    @router.post(
        f"{_ROOT}/unmute",
        operation_id="unmute",
        summary="Let an agent, a thread or a category speak again",
        openapi_extra=body(_UNMUTE_BODY),
    )
    async def unmute(request: Request, person_id: PersonId, caller: Caller) -> UnmutedAnswer:
        return UnmutedAnswer(ok=True, **await acts.unmute(caller, person_id, await read_body(request)))

    @router.post(
        f"{_ROOT}/away",
        operation_id="setAway",
        summary="Be away: notices wait, or go to the person who stands in",
        openapi_extra=body(_AWAY_BODY),
    )
    async def away(request: Request, person_id: PersonId, caller: Caller) -> AwayAnswer:
        return AwayAnswer(ok=True, **await acts.away(caller, person_id, await read_body(request)))


async def _policy(request: Request) -> Any:
    """What is no object is refused as such; nothing at all takes no policy away here."""
    body = await read_body(request)
    return body if body is not None else []
