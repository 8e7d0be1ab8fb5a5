"""`GET /v1/household`: what runs and what waits, in one answer, for the owner."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel

from postroom.domain.principal import Principal
from postroom.domain.standing import StandingNow
from postroom.domain.time import to_text
from postroom.doors.guard.depends import allowing
from postroom.doors.guard.json_door import JsonRoute, failures


class WaitingAnswer(BaseModel):
    questions: int | None
    approvals: int | None
    unread: int | None
    held: int | None
    dead_letters: int | None


class FailingChannelAnswer(BaseModel):
    name: str
    reason: str


class HouseholdAnswer(BaseModel):
    ok: bool
    version: str
    sandbox: bool
    started_at: str
    waiting: WaitingAnswer
    channels_failing: list[FailingChannelAnswer]


def _owner(caller: Principal) -> bool:
    return caller.is_owner


def household_router(standing: Callable[[Principal], Awaitable[StandingNow]]) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["household"], responses=failures(401, 403, 503))

    @router.get(
        "/v1/household",
        operation_id="showHousehold",
        summary="What runs and what waits for you",
        response_model=HouseholdAnswer,
    )
    async def household(caller: Annotated[Principal, Depends(allowing(_owner))]) -> dict[str, Any]:
        return {"ok": True, **standing_document(await standing(caller))}

    return router


def standing_document(one: StandingNow) -> dict[str, Any]:
    waiting = one.waiting
    return {
        "version": one.version,
        "sandbox": one.sandbox,
        "started_at": to_text(one.started_at_us),
        "waiting": {name: getattr(waiting, name) for name in WaitingAnswer.model_fields},
        "channels_failing": [{"name": channel.name, "reason": channel.reason} for channel in one.failing],
    }
