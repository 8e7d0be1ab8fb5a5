"""MA2H over HTTP: submit, poll, cancel, resolve, and what is offered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import APIRouter, Body, Depends, Path, Query, Request
from fastapi.responses import JSONResponse, Response

from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.time import parse_text
from postroom.doors.guard.depends import Caller, IdempotencyKey, ReservedId, allowing
from postroom.doors.guard.tool_policy import Rule
from postroom.doors.guard.while_connected import while_connected
from postroom.doors.ma2h import models
from postroom.doors.ma2h.discovery import WELL_KNOWN, capabilities
from postroom.doors.ma2h.envelope import read_envelope, refuse_other_agents
from postroom.doors.ma2h.messages import Messages, SeenMessage, TakenMessage
from postroom.doors.ma2h.refusals import MessageRoute, malformed, refusals

MESSAGES: Final = "/v1/messages"
MAX_WAIT_SECONDS: Final = 60
_NOT_KEPT: Final = {"Cache-Control": "no-store"}
Id = Annotated[str, Path(max_length=128)]
Wait = Annotated[float, Query(ge=0, description="Seconds to wait for its end; more than 60 are 60.")]
Since = Annotated[str | None, Query(max_length=64, description="A time: 304 when the status is older than this.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRouteParts:
    """`pages_url` is where people and agents reach this household; `may_answer` is for persons' own tokens."""

    messages: Messages
    pages_url: str
    retention_days: int
    may_answer: Rule


def message_router(parts: MessageRouteParts) -> APIRouter:
    router = APIRouter(route_class=MessageRoute, tags=["ma2h"])
    _add_discovery(router, parts)
    _add_submitting(router, parts)
    _add_looking(router, parts)
    _add_ending(router, parts)
    return router


def _add_discovery(router: APIRouter, parts: MessageRouteParts) -> None:
    @router.get(
        WELL_KNOWN,
        operation_id="ma2hCapabilities",
        summary="What of MA2H is offered here",
        response_model=dict[str, Any],
    )
    async def discovery() -> dict[str, Any]:
        return capabilities(parts.retention_days)


def _add_submitting(router: APIRouter, parts: MessageRouteParts) -> None:
    @router.post(
        MESSAGES,
        operation_id="submitMessage",
        summary="Tell a person something, ask them, or give them a task (MA2H)",
        description="An envelope of MA2H v0.5. The same agent.id and idempotency_key are the same message.",
        status_code=202,
        response_model=models.MessageAck,
        responses=refusals(400, 401, 403, 409, 422, 429, 503),
        openapi_extra=models.SUBMIT_REQUEST,
    )
    async def submit(request: Request, caller: Caller, key: IdempotencyKey) -> Any:
        envelope = read_envelope(await request.body(), key, parts.messages.clock.now_us())
        refuse_other_agents(envelope, caller)
        accepted = await parts.messages.submit(caller, envelope)
        return JSONResponse(_ack(accepted, parts.pages_url), status_code=202, headers=_NOT_KEPT)


def _add_looking(router: APIRouter, parts: MessageRouteParts) -> None:
    @router.get(
        f"{MESSAGES}/{{message_id}}",
        operation_id="getMessage",
        summary="One message of yours; with `wait`, when it ends (MA2H)",
        response_model=models.PolledMessage,
        responses={304: {"description": "Its status has not changed since"}, **refusals(400, 401, 404, 503)},
    )
    async def look(request: Request, message_id: Id, caller: Caller, wait: Wait = 0, since: Since = None) -> Any:
        seconds, since_us = min(wait, MAX_WAIT_SECONDS), _moment(since)
        looked = await while_connected(request, parts.messages.look(caller, message_id, seconds))
        if _is_unchanged(looked, since_us):
            return Response(status_code=304, headers=_NOT_KEPT)
        return JSONResponse(looked.body, headers=_NOT_KEPT)


def _add_ending(router: APIRouter, parts: MessageRouteParts) -> None:
    @router.post(
        f"{MESSAGES}/{{message_id}}/cancel",
        operation_id="cancelMessage",
        summary="Withdraw an ask of yours (MA2H)",
        response_model=models.MessageEnd,
        response_model_exclude_unset=True,
        responses=refusals(400, 401, 404, 409, 503),
    )
    async def cancel(message_id: Id, caller: Caller) -> Any:
        return await parts.messages.cancel(caller, message_id)

    @router.post(
        f"{MESSAGES}/{{message_id}}/resolve",
        operation_id="resolveMessage",
        summary="Answer, decline, complete or dismiss, as the person who was asked (MA2H)",
        response_model=models.MessageEnd,
        response_model_exclude_unset=True,
        responses=refusals(400, 401, 403, 404, 409, 422, 503),
        openapi_extra=models.RESOLVE_REQUEST,
        dependencies=[Depends(allowing(parts.may_answer))],
    )
    async def resolve(
        message_id: Id, body: Annotated[dict[str, Any], Body()], person: Caller, reserved_id: ReservedId
    ) -> Any:
        messages = parts.messages
        event_id = reserved_id or messages.mint(messages.clock.now_us())
        return await messages.resolve(person, message_id, body, event_id)


def _ack(accepted: TakenMessage, pages_url: str) -> dict[str, str]:
    told = {"id": accepted.id, "status": accepted.status, "poll_url": f"{pages_url}{MESSAGES}/{accepted.id}"}
    if accepted.question is None:
        return told
    return {**told, "review_url": f"{pages_url}/console/questions/{accepted.question.id}"}


def _is_unchanged(looked: SeenMessage, since_us: int | None) -> bool:
    if since_us is None:
        return False
    return looked.changed_at_us is None or looked.changed_at_us <= since_us


def _moment(since: str | None) -> int | None:
    if since is None:
        return None
    try:
        return parse_text(since.strip().replace(" ", "+"))  # a plus sign that came unescaped
    except ValueError:
        told = FieldError("since", "must be a time like 2026-12-24T18:00:00Z", "time_required")
        raise malformed(ValidationError.of([told])) from None
