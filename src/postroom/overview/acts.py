"""What runs and what waits, and who did what, over HTTP: for the owner alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field

from postroom.kernel.audit import AuditEntry, AuditKind, AuditQuery
from postroom.kernel.database.audit import StoredAudit
from postroom.kernel.guard.http import allowing
from postroom.kernel.guard.tools import operator
from postroom.kernel.serving.json_door import JsonRoute, failures
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import Principal
from postroom.overview.audit import actors_of, cursor_of, read_cursor
from postroom.overview.counts import StandingNow

# -- `GET /v1/household`: what runs and what waits, in one answer --


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
        return {"ok": True, **_standing_document(await standing(caller))}

    return router


def _standing_document(one: StandingNow) -> dict[str, Any]:
    waiting = one.waiting
    return {
        "version": one.version,
        "sandbox": one.sandbox,
        "started_at": to_text(one.started_at_us),
        "waiting": {name: getattr(waiting, name) for name in WaitingAnswer.model_fields},
        "channels_failing": [{"name": channel.name, "reason": channel.reason} for channel in one.failing],
    }


# -- `GET /v1/audit` --

Who = Annotated[str | None, Query(max_length=255, description="Only what this person did, by id; `owner`.")]
Kind = Literal["sign-in", "decision", "people", "rules", "attention", "access", "messages", "settings"]
Cursor = Annotated[str | None, Query(max_length=160, description="`next_cursor` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=200)]


class AuditBody(BaseModel):
    id: str
    at: str
    actor: str = Field(description="`operator`, `person:ID` or another caller.")
    kind: str
    act: str
    subject: str = Field(description="What was acted on, such as `person:ID`; empty for none.")
    detail: str
    door: str = Field(description="Where it was done: `console`, `api`, `command`, or the channel of an answer.")

    @classmethod
    def of(cls, one: AuditEntry) -> AuditBody:
        return cls(
            id=one.id,
            at=to_text(one.at_us),
            actor=one.actor,
            kind=str(one.kind),
            act=one.act,
            subject=one.subject,
            detail=one.detail,
            door=one.door,
        )


class AuditPage(BaseModel):
    ok: bool
    entries: list[AuditBody]
    next_cursor: str | None


def audit_router(record: StoredAudit) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["audit"], responses=failures(400, 401, 403, 422, 503))

    @router.get(
        "/v1/audit",
        operation_id="listAudit",
        summary="Who signed in, decided and changed what, newest first",
        dependencies=[Depends(allowing(operator))],
    )
    async def listed(
        person: Who = None, kind: Kind | None = None, cursor: Cursor = None, limit: Limit = 50
    ) -> AuditPage:
        wanted = AuditQuery(
            limit=limit + 1,
            actors=actors_of(person) if person else (),
            kind=AuditKind(kind) if kind else None,
            before=_before(cursor),
        )
        found = await record.page(wanted)
        more = cursor_of(found[limit - 1]) if len(found) > limit else None
        return AuditPage(ok=True, entries=[AuditBody.of(one) for one in found[:limit]], next_cursor=more)

    return router


def _before(cursor: str | None) -> tuple[int, str] | None:
    before = read_cursor(cursor) if cursor else None
    if cursor and before is None:
        told = FieldError("cursor", "must be next_cursor of an earlier page", "cursor")
        raise Refused.of(Code.SCHEMA_INVALID, [told])
    return before
