"""The inbox of an agent over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from postroom.gateway.intent_routes import IntentId, OwnAgent
from postroom.gateway.models import (
    UUID,
    ChangesAnswer,
    DecisionRequest,
    DelegateRequest,
    InboxAnswer,
    IntentAnswer,
    ReplyRequest,
    ThreadAnswer,
)
from postroom.gateway.parts import GatewayParts
from postroom.guard.depends import Caller
from postroom.guard.json_door import JsonRoute, failures
from postroom.intents.agency import checked_address
from postroom.intents.receipt import intent_document

Folder = Annotated[Literal["pending", "active", "done"] | None, Query()]
Cursor = Annotated[str | None, Query(pattern=UUID, description="`next_cursor` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=200)]
_REFUSALS = failures(400, 401, 403, 404, 409, 413, 422, 503)


def inbox_router(parts: GatewayParts) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["inbox"], prefix="/v1/inbox")
    _add_reading(router, parts)
    _add_answering(router, parts)
    return router


def _add_reading(router: APIRouter, parts: GatewayParts) -> None:
    @router.get(
        "",
        operation_id="listInbox",
        summary="Threads, newest first",
        response_model=InboxAnswer,
        responses=_REFUSALS,
    )
    async def listed(
        caller: Caller, owner: OwnAgent = None, status: Folder = None, cursor: Cursor = None, limit: Limit = 50
    ) -> dict[str, Any]:
        agent = parts.acting(caller, owner).agent
        return {"ok": True, **await parts.threads.page(agent, status, cursor.lower() if cursor else None, limit)}

    @router.get(
        "/changes",
        operation_id="listInboxChanges",
        summary="What happened since",
        response_model=ChangesAnswer,
        responses=_REFUSALS,
    )
    async def changes(
        caller: Caller, owner: OwnAgent = None, cursor: Cursor = None, limit: Limit = 100
    ) -> dict[str, Any]:
        agent = parts.acting(caller, owner).agent
        return {"ok": True, **await parts.threads.changes(agent, cursor.lower() if cursor else None, limit)}

    @router.get(
        "/{thread_id}",
        operation_id="getThread",
        summary="A thread with everything said and done in it",
        response_model=ThreadAnswer,
        responses=_REFUSALS,
    )
    async def thread(thread_id: IntentId, caller: Caller, owner: OwnAgent = None) -> dict[str, Any]:
        return {"ok": True, "thread": await parts.threads.thread(parts.acting(caller, owner), thread_id.lower())}


def _add_answering(router: APIRouter, parts: GatewayParts) -> None:
    @router.post(
        "/{thread_id}/reply",
        operation_id="replyInThread",
        summary="Answer what was asked",
        response_model=IntentAnswer,
        responses=_REFUSALS,
    )
    async def reply(thread_id: IntentId, body: ReplyRequest, caller: Caller, owner: OwnAgent = None) -> dict[str, Any]:
        intent = await parts.threads.reply(parts.acting(caller, owner), thread_id.lower(), body.message)
        return {"ok": True, "intent": intent_document(intent)}

    @router.post(
        "/{thread_id}/approve",
        operation_id="approveThread",
        summary="Say yes, as a person",
        response_model=IntentAnswer,
        responses=_REFUSALS,
    )
    async def approve(
        thread_id: IntentId, body: DecisionRequest, caller: Caller, owner: OwnAgent = None
    ) -> dict[str, Any]:
        acting = parts.acting(caller, owner)
        intent = await parts.threads.decide(acting, thread_id.lower(), approve=True, comment=body.comment)
        return {"ok": True, "intent": intent_document(intent)}

    @router.post(
        "/{thread_id}/reject",
        operation_id="rejectThread",
        summary="Say no, as a person",
        response_model=IntentAnswer,
        responses=_REFUSALS,
    )
    async def reject(
        thread_id: IntentId, body: DecisionRequest, caller: Caller, owner: OwnAgent = None
    ) -> dict[str, Any]:
        acting = parts.acting(caller, owner)
        intent = await parts.threads.decide(acting, thread_id.lower(), approve=False, comment=body.comment)
        return {"ok": True, "intent": intent_document(intent)}

    @router.post(
        "/{thread_id}/delegate",
        operation_id="delegateThread",
        summary="Let somebody else answer",
        response_model=IntentAnswer,
        responses=_REFUSALS,
    )
    async def delegate(
        thread_id: IntentId, body: DelegateRequest, caller: Caller, owner: OwnAgent = None
    ) -> dict[str, Any]:
        to = checked_address(body.delegate_to, "delegate_to")
        acting = parts.acting(caller, owner)
        intent = await parts.threads.delegate(acting, thread_id.lower(), to, body.note)
        return {"ok": True, "intent": intent_document(intent)}
