"""What a person wants of their notices, over HTTP: the policy, mute, away, and the figures of what became of it."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request

from postroom.doors.attention import models, schemas
from postroom.doors.attention.acts import WEEK_SECONDS, AttentionActs
from postroom.doors.attention.notice_routes import REFUSALS, read_body
from postroom.doors.guard.depends import Caller
from postroom.doors.guard.json_door import JsonRoute

LONGEST_REPLAY: Final = 90 * 86_400
PersonId = Annotated[str, Path(min_length=1, max_length=128, description="`owner` is the owner.")]
Replay = Annotated[int, Query(ge=1, le=LONGEST_REPLAY, description="How far back; a week by default.")]
_ROOT: Final = "/v1/people/{person_id}"


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
    async def get(person_id: PersonId, caller: Caller) -> models.PolicyAnswer:
        return models.PolicyAnswer(ok=True, **await acts.policy(caller, person_id))

    @router.put(
        f"{_ROOT}/attention",
        operation_id="setAttention",
        summary="Set a person's policy; what is held is judged anew at once",
        openapi_extra=schemas.body(schemas.POLICY),
    )
    async def put(request: Request, person_id: PersonId, caller: Caller) -> models.PolicyAnswer:
        return models.PolicyAnswer(ok=True, **await acts.set_policy(caller, person_id, await _policy(request)))

    @router.delete(
        f"{_ROOT}/attention",
        operation_id="deleteAttention",
        summary="Take a person's own policy away: the household's alone counts",
    )
    async def delete(person_id: PersonId, caller: Caller) -> models.PolicyAnswer:
        return models.PolicyAnswer(ok=True, **await acts.set_policy(caller, person_id, None))


def _add_looking(router: APIRouter, acts: AttentionActs) -> None:
    @router.post(
        f"{_ROOT}/attention/preview",
        operation_id="previewAttention",
        summary="What this policy would have changed, over the notices that came; changes nothing",
        openapi_extra=schemas.body(schemas.POLICY),
    )
    async def preview(
        request: Request, person_id: PersonId, caller: Caller, replay_seconds: Replay = WEEK_SECONDS
    ) -> models.PreviewAnswer:
        shown = await acts.preview(caller, person_id, await _policy(request), replay_seconds)
        return models.PreviewAnswer(ok=True, **shown)

    @router.get(
        f"{_ROOT}/attention/figures",
        operation_id="countNotices",
        summary="How many notices came and where each of them is",
    )
    async def figures(person_id: PersonId, caller: Caller) -> models.FiguresAnswer:
        return models.FiguresAnswer(ok=True, **await acts.figures(caller, person_id))

    @router.get(
        f"{_ROOT}/attention/plan",
        operation_id="planPerson",
        summary="What will happen to a person's notices if no one does anything",
    )
    async def plan(person_id: PersonId, caller: Caller) -> models.PersonPlanAnswer:
        return models.PersonPlanAnswer(plan=await acts.person_plan(caller, person_id))  # type: ignore[arg-type]


def _add_silence(router: APIRouter, acts: AttentionActs) -> None:
    @router.post(
        f"{_ROOT}/mute",
        operation_id="mute",
        summary="Show nothing of an agent, a thread or a category for a while; an hour by default",
        openapi_extra=schemas.body(schemas.MUTE_BODY),
    )
    async def mute(request: Request, person_id: PersonId, caller: Caller) -> models.MutedAnswer:
        return models.MutedAnswer(ok=True, **await acts.mute(caller, person_id, await read_body(request)))

    @router.post(
        f"{_ROOT}/unmute",
        operation_id="unmute",
        summary="Let an agent, a thread or a category speak again",
        openapi_extra=schemas.body(schemas.UNMUTE_BODY),
    )
    async def unmute(request: Request, person_id: PersonId, caller: Caller) -> models.UnmutedAnswer:
        return models.UnmutedAnswer(ok=True, **await acts.unmute(caller, person_id, await read_body(request)))

    @router.post(
        f"{_ROOT}/away",
        operation_id="setAway",
        summary="Be away: notices wait, or go to the person who stands in",
        openapi_extra=schemas.body(schemas.AWAY_BODY),
    )
    async def away(request: Request, person_id: PersonId, caller: Caller) -> models.AwayAnswer:
        return models.AwayAnswer(ok=True, **await acts.away(caller, person_id, await read_body(request)))


async def _policy(request: Request) -> Any:
    """What is no object is refused as such; nothing at all takes no policy away here."""
    body = await read_body(request)
    return body if body is not None else []
