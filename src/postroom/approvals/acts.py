"""Decide what may be sent: as tools of the messenger, and over HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import JSONResponse
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from postroom.approvals.approvals import Approvals
from postroom.approvals.card import detail, rule_shape, summary
from postroom.approvals.model import ActionStatus
from postroom.approvals.rules import parse_rule_request, read_reason, wanted_rule
from postroom.delivery.routes import http_answer
from postroom.kernel.guard.http import Verifier, allowing, presented_token
from postroom.kernel.guard.tools import Rule, caller
from postroom.kernel.serving.json_door import JsonRoute, Strict, Text, answered, failures
from postroom.kernel.values.errors import error_answer
from postroom.kernel.values.principal import Principal

# ---- the messenger's tools ----


_READS: Final = ToolAnnotations(read_only_hint=True)
_DECIDES: Final = ToolAnnotations(destructive_hint=True, idempotent_hint=False)
_TOOLS: Final = "tools"  # where a decision was taken, as the card says it
_Asking = Context[Any, Any]
_ActionIdText = Annotated[Text, Field(min_length=1, max_length=64)]
_StatusName = Literal["pending", "approved", "rejected", "expired", "all"]


def add_approval_tools(server: MCPServer[Any], approvals: Approvals, verifier: Verifier) -> None:
    _add_reading(server, approvals)
    _add_deciding(server, approvals, verifier)
    _add_rules(server, approvals, verifier)


def _add_reading(server: MCPServer[Any], approvals: Approvals) -> None:
    @answered(error_answer)
    async def list_pending_actions(
        status: _StatusName = "pending",
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
        cursor: Annotated[Text | None, Field(max_length=64)] = None,
    ) -> dict[str, Any]:
        """
        List messages that wait for a person's approval, newest first; other statuses show what was decided.

        Pass `next_cursor` of one answer as `cursor` to get the page after it.
        """
        wanted = None if status == "all" else ActionStatus(status)
        found = await approvals.page(wanted, before=cursor, limit=limit)
        more = found[-1].id if len(found) == limit else None
        return {"status": "ok", "actions": [summary(action) for action in found], "next_cursor": more}

    @answered(error_answer)
    async def show_pending_action(action_id: _ActionIdText) -> dict[str, Any]:
        """
        Show one action: the exact content and recipient, the same with hidden characters made visible,
        warnings about them, its risk, its content hash, the state of its delivery and its audit trail.
        """
        return {"status": "ok", "action": detail(await approvals.show(action_id))}

    server.add_tool(list_pending_actions, annotations=_READS)
    server.add_tool(show_pending_action, annotations=_READS)


def _add_deciding(server: MCPServer[Any], approvals: Approvals, verifier: Verifier) -> None:
    @answered(error_answer)
    async def approve_action(
        context: _Asking,
        action_id: _ActionIdText,
        content_hash: Annotated[str | None, Field(max_length=64)] = None,
        edits: dict[str, Any] | None = None,
        create_rule: bool | dict[str, Any] = False,
    ) -> dict[str, Any]:
        """
        Approve a parked message; it is sent once.

        Give the `content_hash` you were shown: if what would be sent is anything else, nothing is sent.
        `edits` changes `message`, `subject`, `emoji` or `recipient` first. `create_rule` lets the same butler
        write to the same person on the same channel from now on; as an object it takes `constraints`,
        `description`, `expires_at` and `max_uses`. An approval after the expiry is too late and says so.
        """
        action, rule = await approvals.approve(
            _who(context, verifier),
            action_id,
            seen_hash=content_hash,
            edits=edits,
            create_rule=wanted_rule(create_rule),
            via=_TOOLS,
        )
        made = {"rule": rule_shape(rule, approvals.clock.now_us())} if rule else {}
        return {"status": "ok", "decision": "approved", "action": summary(action)} | made

    @answered(error_answer)
    async def reject_action(context: _Asking, action_id: _ActionIdText, reason: str) -> dict[str, Any]:
        """Reject a parked message; it is never sent, and its sender sees the reason (`notify_status`)."""
        action = await approvals.reject(_who(context, verifier), action_id, read_reason(reason), via=_TOOLS)
        return {"status": "ok", "decision": "rejected", "action": summary(action)}

    server.add_tool(approve_action, annotations=_DECIDES)
    server.add_tool(reject_action, annotations=_DECIDES)


def _add_rules(server: MCPServer[Any], approvals: Approvals, verifier: Verifier) -> None:
    @answered(error_answer)
    async def list_approval_rules() -> dict[str, Any]:
        """List the standing rules, newest first, with how often each was used and whether it still counts."""
        now_us = approvals.clock.now_us()
        return {"status": "ok", "rules": [rule_shape(rule, now_us) for rule in await approvals.rules()]}

    @answered(error_answer)
    async def create_approval_rule(
        context: _Asking,
        constraints: dict[str, Any],
        description: str = "",
        expires_at: str | None = None,
        max_uses: int | None = None,
    ) -> dict[str, Any]:
        """
        Let messages pass without asking when they fit.

        `constraints` maps `channel`, `recipient`, `origin_butler`, `intent`, `thread`, `subject`, `message` or
        `emoji` to `{"type": "exact", "value": …}`, `{"type": "pattern", "value": "*@example.com"}` or
        `{"type": "any"}`; all of them must hold. A rule for a high or critical risk needs at least one exact or
        pattern constraint and a bound: `expires_at` (RFC 3339) or `max_uses`.
        """
        asked = {"constraints": constraints, "description": description, "expires_at": expires_at}
        request = parse_rule_request(asked | {"max_uses": max_uses})
        rule = await approvals.create_rule(_who(context, verifier), request)
        return {"status": "ok", "rule": rule_shape(rule, approvals.clock.now_us())}

    @answered(error_answer)
    async def revoke_approval_rule(context: _Asking, rule_id: _ActionIdText) -> dict[str, Any]:
        """End a standing rule now; what it already let pass stays sent."""
        rule = await approvals.revoke_rule(_who(context, verifier), rule_id)
        return {"status": "ok", "rule": rule_shape(rule, approvals.clock.now_us())}

    server.add_tool(list_approval_rules, annotations=_READS)
    server.add_tool(create_approval_rule, annotations=_DECIDES)
    server.add_tool(revoke_approval_rule, annotations=_DECIDES)


def _who(context: _Asking, verifier: Verifier) -> Principal:
    return caller(context, verifier)


# ---- over HTTP: the same tools, under their caller's own token ----


_Call = Callable[[str, Mapping[str, Any], str], Awaitable[dict[str, Any]]]  # a tool, its arguments, the caller's token
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
_Action = Annotated[str, Path(max_length=64)]
_Status = Literal["pending", "approved", "rejected", "expired", "all"]
_Limit = Annotated[int, Query(ge=1, le=200)]
_Cursor = Annotated[str | None, Query(max_length=64)]


class ApproveRequest(Strict):
    content_hash: Annotated[str, Field(max_length=64)] | None = None
    edits: dict[str, Any] | None = None
    create_rule: bool | dict[str, Any] = False


class RejectRequest(Strict):
    reason: Annotated[Text, Field(min_length=1, max_length=500)]


def approval_router(call: _Call, may_decide: Rule) -> APIRouter:
    only = [Depends(allowing(may_decide))]
    router = APIRouter(route_class=JsonRoute, tags=["approvals"], responses=_RESPONSES, dependencies=only)

    async def answer(request: Request, tool: str, arguments: Mapping[str, Any]) -> JSONResponse:
        return http_answer(await call(tool, arguments, presented_token(request.headers) or ""))

    @router.get("/v1/approvals", operation_id="listApprovals", summary="What waits for a decision, newest first")
    async def listed(
        request: Request, status: _Status = "pending", limit: _Limit = 50, cursor: _Cursor = None
    ) -> JSONResponse:
        return await answer(request, "list_pending_actions", {"status": status, "limit": limit, "cursor": cursor})

    @router.get("/v1/approvals/{action_id}", operation_id="showApproval", summary="Exactly what would be sent")
    async def show(request: Request, action_id: _Action) -> JSONResponse:
        return await answer(request, "show_pending_action", {"action_id": action_id})

    @router.post("/v1/approvals/{action_id}/approve", operation_id="approveAction", summary="Send it, once")
    async def approve(request: Request, action_id: _Action, body: ApproveRequest) -> JSONResponse:
        return await answer(request, "approve_action", {"action_id": action_id, **body.model_dump()})

    @router.post("/v1/approvals/{action_id}/reject", operation_id="rejectAction", summary="Never send it")
    async def reject(request: Request, action_id: _Action, body: RejectRequest) -> JSONResponse:
        return await answer(request, "reject_action", {"action_id": action_id, "reason": body.reason})

    return router
