"""Whom a name means: find out, confirm, list what was confirmed and forget it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from postroom.domain.contact import InputMode
from postroom.domain.contact_book import ConfirmSource
from postroom.domain.errors import Code, FieldError, Refused
from postroom.domain.principal import Principal
from postroom.doors.guard.depends import Caller
from postroom.doors.guard.json_body import Done
from postroom.doors.guard.json_door import JsonRoute
from postroom.doors.people.models import (
    ConfirmAnswer,
    ConfirmRequest,
    MemoryBody,
    MemoryPage,
    ResolveAnswer,
    ResolveRequest,
)
from postroom.doors.people.parts import REFUSALS, Id, IdCursor, Limit, Owner, RegistryParts
from postroom.work.intents.agency import checked_address
from postroom.work.people.confirm import Confirmation


def resolution_router(parts: RegistryParts) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["contacts"], responses=REFUSALS)
    _add_choosing(router, parts)
    _add_memory(router, parts)
    return router


def _add_choosing(router: APIRouter, parts: RegistryParts) -> None:
    @router.post(
        "/contacts/resolve",
        operation_id="resolveContact",
        summary="Find out whom a name means, without sending anything",
        response_model=ResolveAnswer,
    )
    async def resolve(body: ResolveRequest, caller: Caller) -> dict[str, Any]:
        book = parts.book(caller, body.owner_agent)
        found = await parts.resolver.resolve(book, body.query, input_mode=InputMode(body.input_mode), limit=body.limit)
        return {"ok": True, "decision_mode": str(found.decision_mode), **found.document()}

    @router.post("/contacts/confirm", operation_id="confirmContact", summary="Remember whom a person meant by a name")
    async def confirm(body: ConfirmRequest, caller: Caller) -> ConfirmAnswer:
        memory = await parts.confirmer.confirm(_confirmation(parts, body, caller), by_person=caller.is_person)
        return ConfirmAnswer(ok=True, match_type="memory", **MemoryBody.of(memory).model_dump())


def _confirmation(parts: RegistryParts, body: ConfirmRequest, caller: Principal) -> Confirmation:
    chosen = body.choice or body.agent_address
    if body.resolution_token is None and chosen is None:
        error = "give the resolution_token you were offered, or an agent_address"
        raise Refused(Code.SCHEMA_INVALID, error, fields=[FieldError("resolution_token", error, "required")])
    return Confirmation(
        owner_agent=parts.book(caller, body.owner_agent),
        query=body.query,
        resolution_token=body.resolution_token,
        agent_address=checked_address(chosen, "agent_address") if chosen is not None else None,
        source=ConfirmSource(body.source),
    )


def _add_memory(router: APIRouter, parts: RegistryParts) -> None:
    @router.get("/contacts/memory", operation_id="listContactMemory", summary="What was confirmed so far")
    async def memory(caller: Caller, owner: Owner = None, cursor: IdCursor = None, limit: Limit = 50) -> MemoryPage:
        found = await parts.memory.listed(parts.book(caller, owner), after=cursor, limit=limit + 1)
        shown = [MemoryBody.of(one) for one in found[:limit]]
        return MemoryPage(ok=True, memory=shown, next_cursor=shown[-1].memory_id if len(found) > limit else None)

    @router.delete(
        "/contacts/memory/{memory_id}", operation_id="forgetContactMemory", summary="Forget one confirmed choice"
    )
    async def forget(memory_id: Id, caller: Caller, owner: Owner = None) -> Done:
        if not await parts.memory.forget(parts.book(caller, owner), memory_id):
            raise Refused(Code.NOT_FOUND, "nothing is remembered under this id")
        return Done(ok=True)
