"""The inbox of an agent over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from postroom.domain.intent import AgentIntent
from postroom.doors.guard.depends import Caller
from postroom.doors.guard.json_door import JsonRoute
from postroom.doors.intents.arguments import REFUSALS, Cursor, Id, Limit, OwnAgent
from postroom.doors.intents.models import (
    ChangesAnswer,
    DecisionRequest,
    DelegateRequest,
    InboxAnswer,
    IntentAnswer,
    ReplyRequest,
    ThreadAnswer,
)
from postroom.doors.intents.parts import GatewayParts
from postroom.work.intents.agency import checked_address
from postroom.work.intents.receipt import intent_document

Folder = Annotated[Literal["pending", "active", "done"] | None, Query()]


def inbox_router(parts: GatewayParts) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["inbox"], prefix="/v1/inbox", responses=REFUSALS)
    _add_reading(router, parts)
    _add_answering(router, parts)
    return router


def _add_reading(router: APIRouter, parts: GatewayParts) -> None:
    @router.get(
        "",
        operation_id="listInbox",
        summary="Threads, newest first",
        response_model=InboxAnswer,
    )
    async def listed(
        caller: Caller, owner: OwnAgent = None, status: Folder = None, cursor: Cursor = None, limit: Limit = 50
    ) -> dict[str, Any]:
        agent = parts.acting(caller, owner).agent
        return {"ok": True, **await parts.threads.page(agent, status, cursor, limit)}

    @router.get(
        "/changes",
        operation_id="listInboxChanges",
        summary="What happened since",
        description="Every event once, as it was committed. After a cursor whose thread was removed: what is younger.",
        response_model=ChangesAnswer,
    )
    async def changes(
        caller: Caller, owner: OwnAgent = None, cursor: Cursor = None, limit: Limit = 100
    ) -> dict[str, Any]:
        agent = parts.acting(caller, owner).agent
        return {"ok": True, **await parts.threads.changes(agent, cursor, limit)}

    @router.get(
        "/{thread_id}",
        operation_id="getThread",
        summary="A thread with everything said and done in it",
        response_model=ThreadAnswer,
    )
    async def thread(thread_id: Id, caller: Caller, owner: OwnAgent = None) -> dict[str, Any]:
        return {"ok": True, "thread": await parts.threads.thread(parts.acting(caller, owner), thread_id)}


def _add_answering(router: APIRouter, parts: GatewayParts) -> None:
    @router.post(
        "/{thread_id}/reply",
        operation_id="replyInThread",
        summary="Answer what was asked",
        response_model=IntentAnswer,
    )
    async def reply(thread_id: Id, body: ReplyRequest, caller: Caller, owner: OwnAgent = None) -> dict[str, Any]:
        return _shown(await parts.threads.reply(parts.acting(caller, owner), thread_id, body.message))

    @router.post(
        "/{thread_id}/approve",
        operation_id="approveThread",
        summary="Say yes, as a person",
        response_model=IntentAnswer,
    )
    async def approve(thread_id: Id, body: DecisionRequest, caller: Caller, owner: OwnAgent = None) -> dict[str, Any]:
        acting = parts.acting(caller, owner)
        return _shown(await parts.threads.decide(acting, thread_id, approve=True, comment=body.comment))

    @router.post(
        "/{thread_id}/reject",
        operation_id="rejectThread",
        summary="Say no, as a person",
        response_model=IntentAnswer,
    )
    async def reject(thread_id: Id, body: DecisionRequest, caller: Caller, owner: OwnAgent = None) -> dict[str, Any]:
        acting = parts.acting(caller, owner)
        return _shown(await parts.threads.decide(acting, thread_id, approve=False, comment=body.comment))

    @router.post(
        "/{thread_id}/delegate",
        operation_id="delegateThread",
        summary="Let somebody else answer",
        response_model=IntentAnswer,
    )
    async def delegate(thread_id: Id, body: DelegateRequest, caller: Caller, owner: OwnAgent = None) -> dict[str, Any]:
        to = checked_address(body.delegate_to, "delegate_to")
        return _shown(await parts.threads.delegate(parts.acting(caller, owner), thread_id, to, body.note))


def _shown(intent: AgentIntent) -> dict[str, Any]:
    return {"ok": True, "intent": intent_document(intent)}
