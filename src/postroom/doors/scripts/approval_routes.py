"""Approvals over HTTP, for people who may decide: the messenger's tools, under their caller's own token."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import JSONResponse
from pydantic import Field

from postroom.doors.guard.depends import allowing
from postroom.doors.guard.http import presented_token
from postroom.doors.guard.json_body import Strict, Text
from postroom.doors.guard.json_door import JsonRoute, failures
from postroom.doors.guard.tool_policy import Rule
from postroom.doors.scripts.http_answer import http_answer

Call = Callable[[str, Mapping[str, Any], str], Awaitable[dict[str, Any]]]  # a tool, its arguments, the caller's token

_ANSWER: Final = {"content": {"application/json": {"schema": {"type": "object"}}}}
_TOLD: Final = {
    200: "As the messenger's tool answers",
    400: "Something about the request is wrong",
    404: "No such action, or approvals are off",
    409: "Decided already, or expired",
}
_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    **failures(401, 403, 422, 503),
    **{status: {"description": told, **_ANSWER} for status, told in _TOLD.items()},
}
Action = Annotated[str, Path(max_length=64)]
Status = Literal["pending", "approved", "rejected", "expired", "all"]
Limit = Annotated[int, Query(ge=1, le=200)]
Cursor = Annotated[str | None, Query(max_length=64)]


class ApproveRequest(Strict):
    content_hash: Annotated[str, Field(max_length=64)] | None = None
    edits: dict[str, Any] | None = None
    create_rule: bool | dict[str, Any] = False


class RejectRequest(Strict):
    reason: Annotated[Text, Field(min_length=1, max_length=500)]


def approval_router(call: Call, may_decide: Rule) -> APIRouter:
    only = [Depends(allowing(may_decide))]
    router = APIRouter(route_class=JsonRoute, tags=["approvals"], responses=_RESPONSES, dependencies=only)

    async def answer(request: Request, tool: str, arguments: Mapping[str, Any]) -> JSONResponse:
        return http_answer(await call(tool, arguments, presented_token(request.headers) or ""))

    @router.get("/v1/approvals", operation_id="listApprovals", summary="What waits for a decision, newest first")
    async def listed(
        request: Request, status: Status = "pending", limit: Limit = 50, cursor: Cursor = None
    ) -> JSONResponse:
        return await answer(request, "list_pending_actions", {"status": status, "limit": limit, "cursor": cursor})

    @router.get("/v1/approvals/{action_id}", operation_id="showApproval", summary="Exactly what would be sent")
    async def show(request: Request, action_id: Action) -> JSONResponse:
        return await answer(request, "show_pending_action", {"action_id": action_id})

    @router.post("/v1/approvals/{action_id}/approve", operation_id="approveAction", summary="Send it, once")
    async def approve(request: Request, action_id: Action, body: ApproveRequest) -> JSONResponse:
        return await answer(request, "approve_action", {"action_id": action_id, **body.model_dump()})

    @router.post("/v1/approvals/{action_id}/reject", operation_id="rejectAction", summary="Never send it")
    async def reject(request: Request, action_id: Action, body: RejectRequest) -> JSONResponse:
        return await answer(request, "reject_action", {"action_id": action_id, "reason": body.reason})

    return router
