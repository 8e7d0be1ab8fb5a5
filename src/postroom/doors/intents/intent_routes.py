"""Intents over HTTP: submit, look, follow, end."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import StreamingResponse

from postroom.domain.idempotency_key import agreed_key
from postroom.domain.intent import IntentStatus
from postroom.domain.sendable_json import unsendable
from postroom.doors.guard.depends import Caller, IdempotencyKey
from postroom.doors.guard.event_stream import StreamEvent
from postroom.doors.guard.json_door import JsonRoute
from postroom.doors.intents.arguments import (
    REFUSALS,
    Id,
    OwnAgent,
    Place,
    Since,
    Statuses,
    Wait,
    place_of,
    statuses_of,
)
from postroom.doors.intents.models import (
    EventsAnswer,
    IntentAnswer,
    MacrosAnswer,
    ResolveIntentAnswer,
    ResolveIntentRequest,
    ResumeRequest,
    SubmitAnswer,
    SubmitRequest,
)
from postroom.doors.intents.parts import GatewayParts
from postroom.doors.intents.stream import stream
from postroom.doors.intents.submit import submit
from postroom.work.intents.agency import checked_address
from postroom.work.intents.macros import MACROS
from postroom.work.intents.receipt import (
    completion_delivery,
    event_document,
    first_receipt,
    in_protocol_words,
    intent_document,
    receipt,
)
from postroom.work.intents.schemas import refuse

_EVENT = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {name: {"type": "string"} for name in ("event", "data", "id")},
}
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events, each of this shape", "content": {"text/event-stream": {"schema": _EVENT}}}
}
_PAGE = 500


def intent_router(parts: GatewayParts) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["intents"], responses=REFUSALS)
    _add_intents(router, parts)
    _add_events(router, parts)
    _add_ends(router, parts)
    _add_agents(router, parts)
    return router


def _add_intents(router: APIRouter, parts: GatewayParts) -> None:
    @router.post(
        "/v1/intents",
        operation_id="submitIntent",
        summary="Send an ask or a reply",
        description="Accepted means stored. The same idempotency key and content answer with the first intent.",
        response_model=SubmitAnswer,
    )
    async def submit_intent(body: SubmitRequest, caller: Caller, key: IdempotencyKey) -> dict[str, Any]:
        envelope = body.model_dump() | {"idempotency_key": agreed_key(key, body.idempotency_key)}
        intent = await submit(parts, caller, envelope)
        return {"ok": True, **in_protocol_words(first_receipt(intent) if key else receipt(intent))}

    @router.get(
        "/v1/intents/{intent_id}",
        operation_id="getIntent",
        summary="What became of an intent",
        response_model=IntentAnswer,
    )
    async def get(intent_id: Id, caller: Caller, owner: OwnAgent = None) -> dict[str, Any]:
        intent = await parts.threads.visible(parts.acting(caller, owner), intent_id)
        return {"ok": True, "intent": intent_document(intent)}

    @router.get(
        "/v1/macros",
        operation_id="listMacros",
        summary="Ways to pursue an ask",
        response_model=MacrosAnswer,
    )
    async def macros(_caller: Caller) -> dict[str, Any]:
        return {"ok": True, "macros": [macro.document() for macro in MACROS.values()]}


def _add_events(router: APIRouter, parts: GatewayParts) -> None:
    @router.get(
        "/v1/intents/{intent_id}/events",
        operation_id="listIntentEvents",
        summary="Everything that happened to an intent",
        response_model=EventsAnswer,
    )
    async def events(intent_id: Id, caller: Caller, since: Since = 0, owner: OwnAgent = None) -> dict[str, Any]:
        await parts.threads.visible(parts.acting(caller, owner), intent_id)
        found = await parts.threads.store.events(intent_id, since=since, limit=_PAGE)
        return {"ok": True, "events": [event_document(event) for event in found]}

    @router.get(
        "/v1/intents/{intent_id}/events/stream",
        operation_id="streamIntentEvents",
        summary="The same, as it happens",
        response_class=StreamingResponse,
        responses=_STREAM,
    )
    async def follow(
        intent_id: Id, caller: Caller, since: Since = 0, wait_seconds: Wait = 30.0, owner: OwnAgent = None
    ) -> StreamingResponse:
        await parts.threads.visible(parts.acting(caller, owner), intent_id)
        seen = since

        async def fetch() -> tuple[list[StreamEvent], bool]:
            nonlocal seen
            found = await parts.threads.store.events(intent_id, since=seen, limit=_PAGE)
            seen = found[-1].seq if found else seen
            intent = await parts.threads.store.get(intent_id)
            ended = intent is None or (not intent.is_open and seen >= intent.seq)
            return [
                StreamEvent(name=str(one.event_type), id=str(one.seq), data=event_document(one)) for one in found
            ], ended

        return stream(fetch, parts.signal, parts.clock, wait_seconds)


def _add_ends(router: APIRouter, parts: GatewayParts) -> None:
    @router.post(
        "/v1/intents/{intent_id}/resolve",
        operation_id="resolveIntent",
        summary="End an intent: completed or failed by whoever was asked, canceled by the sender",
        response_model=ResolveIntentAnswer,
    )
    async def resolve(
        intent_id: Id, body: ResolveIntentRequest, caller: Caller, owner: OwnAgent = None
    ) -> dict[str, Any]:
        change = await parts.threads.resolve(
            parts.acting(caller, owner), intent_id, IntentStatus(body.status), _outcome(body)
        )
        return {
            "ok": True,
            "intent": intent_document(change.intent),
            "event": event_document(change.events[-1]),
            "completion_delivery": completion_delivery(change.intent),
        }

    @router.post(
        "/v1/intents/{intent_id}/resume",
        operation_id="resumeIntent",
        summary="Let a waiting intent go on, or end it with the result of a task",
        response_model=IntentAnswer,
    )
    async def resume(intent_id: Id, body: ResumeRequest, caller: Caller, owner: OwnAgent = None) -> dict[str, Any]:
        refuse(unsendable(body.task_result, "task_result"))
        intent = await parts.threads.resume(parts.acting(caller, owner), intent_id, body.task_result)
        return {"ok": True, "intent": intent_document(intent)}


def _outcome(body: ResolveIntentRequest) -> dict[str, Any]:
    refuse(unsendable(body.result, "result") + unsendable(body.error, "error"))
    match body.status:
        case "COMPLETED":
            return body.result or {}
        case "FAILED":
            return {"error": body.error or {}, "reason": body.reason}
        case "CANCELED":
            return {"reason": body.reason}


def _add_agents(router: APIRouter, parts: GatewayParts) -> None:
    @router.get(
        "/v1/agents/{address:path}/intents/stream",
        operation_id="streamAgentIntents",
        summary="What is put to an agent, as it comes",
        description="The address without agent://, for example household/owner. Reading an intent delivers it. `seq` "
        "is its place in this stream. After one that was removed meanwhile, everything unanswered comes again.",
        response_class=StreamingResponse,
        responses=_STREAM,
    )
    async def incoming(
        address: Annotated[str, Path(max_length=200)],
        caller: Caller,
        since: Place = None,
        wait_seconds: Wait = 30.0,
        status: Statuses = None,
    ) -> StreamingResponse:
        agent = parts.agency.sender(caller, checked_address(f"agent://{address}", "address"), "address")
        seen = place_of(since)
        wanted = {"statuses": statuses_of(status)} if status else {}

        async def fetch() -> tuple[list[StreamEvent], bool]:
            nonlocal seen
            found = await parts.threads.inbox.arrived(agent, after=seen, limit=_PAGE, **wanted)
            seen = found[-1][0] if found else seen
            delivered = [(place, await parts.threads.fetched(agent, one)) for place, one in found]
            return [
                StreamEvent(name="intent.submitted", id=one.id, data={**intent_document(one), "seq": place})
                for place, one in delivered
            ], False

        return stream(fetch, parts.signal, parts.clock, wait_seconds)
