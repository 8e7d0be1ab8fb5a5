"""The audit over HTTP: for the operator's token alone."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field

from postroom.domain.audit import AuditEntry, AuditKind, AuditQuery
from postroom.domain.errors import Code, FieldError, Refused
from postroom.domain.time import to_text
from postroom.doors.audit.cursor import cursor_of, read_cursor
from postroom.doors.audit.people import actors_of
from postroom.doors.audit.ports import AuditRecord
from postroom.doors.guard.depends import allowing
from postroom.doors.guard.json_door import JsonRoute, failures
from postroom.doors.guard.tool_policy import operator

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


def audit_router(record: AuditRecord) -> APIRouter:
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
