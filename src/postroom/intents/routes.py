"""The gateway over HTTP: intents, the inbox of an agent, and subscriptions to its news."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from fastapi import APIRouter, Path, Query
from fastapi.responses import StreamingResponse
from pydantic import AfterValidator

from postroom.intents.bodies import (
    UUID,
    ChangesAnswer,
    CompletionDelivery,
    DecisionRequest,
    DelegateRequest,
    EventBody,
    EventsAnswer,
    InboxAnswer,
    IntentAnswer,
    IntentBody,
    MacroBody,
    MacrosAnswer,
    ReplyRequest,
    ResolveIntentAnswer,
    ResolveIntentRequest,
    ResumeRequest,
    SubmitAnswer,
    SubmitRequest,
    SubscriptionAnswer,
    SubscriptionBody,
    SubscriptionRequest,
    SubscriptionsAnswer,
    ThreadAnswer,
)
from postroom.intents.directory import Acting
from postroom.intents.envelope import (
    MACROS,
    refuse,
)
from postroom.intents.gateway import Intake, Submission
from postroom.intents.model import AgentIntent, IntentReceipt, IntentStatus
from postroom.intents.model import Folder as FolderName
from postroom.intents.threads import Threads
from postroom.kernel.guard.http import Caller, IdempotencyKey, ReservedId
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.serving.json_door import Done, End, EventStream, JsonRoute, StreamEvent, failures
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.fields import unsendable
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import Agency, Principal, Role, agreed_key, checked_address
from postroom.kernel.webhooks import StoredWebhooks, Subscription, WebhookEvent

# What the routes take from a path or a query.

REFUSALS: Final = failures(400, 401, 403, 404, 409, 413, 422, 503)

_WORDS: Final = "|".join(IntentStatus)


def _place_of(since: str | None) -> str | int | None:
    return int(since) if since and since.isdigit() else _as_stored(since)


def _statuses_of(words: str) -> list[IntentStatus]:
    return [IntentStatus(word) for word in words.split(",")]


def _as_stored(text: str | None) -> str | None:
    return text.lower() if text else None


Id = Annotated[str, Path(pattern=UUID), AfterValidator(_as_stored)]
_OwnAgent = Annotated[
    str | None, Query(max_length=255, alias="owner_agent", description="As whom; the caller's own agent by default.")
]
Cursor = Annotated[
    str | None,
    Query(pattern=UUID, description="`next_cursor` of the page before."),
    AfterValidator(_as_stored),
]
Limit = Annotated[int, Query(ge=1, le=200)]
Since = Annotated[int, Query(ge=0, le=2_000_000_000, description="The last `seq` you have seen.")]
Place = Annotated[
    str | None,
    Query(pattern=f"^[0-9]{{1,18}}$|{UUID}", description="The last `seq` you have seen, or the last intent."),
]
_Statuses = Annotated[
    str | None,
    Query(
        pattern=f"^({_WORDS})(,({_WORDS}))*$",
        description="Only of these, such as SUBMITTED,WAITING; unanswered if not given.",
    ),
]
Wait = Annotated[float, Query(ge=0, le=60, description="How long the stream stays open without an end.")]


# What the doors need, and who is acting through them.


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayParts:
    intake: Intake
    threads: Threads
    subscriptions: StoredWebhooks
    agency: Agency
    signal: Signal
    clock: Clock
    mint: Callable[[int], str]
    decides: Callable[[Principal], bool]  # what was put to them; the others only answer

    def acting(self, caller: Principal, agent: str | None, field: str = "owner_agent") -> Acting:
        """`field` is what this door calls the agent it was given."""
        agent = self.agency.sender(caller, agent, field)
        return Acting(
            agent,
            self.decides(caller),
            anyone=caller.role is Role.OPERATOR,
            caller=str(caller),
            name=self.agency.name(caller, agent),
            own=frozenset(self.agency.agents(caller)),
        )


# From a submitted body to an intent in the books.

_REMINDERS = ("remind_after_seconds", "remind_interval_seconds", "max_reminders", "escalate_to")


async def submit(parts: GatewayParts, caller: Principal, body: Mapping[str, Any]) -> AgentIntent:
    """The sender comes from the token; the body may only repeat it."""
    sender = parts.agency.sender(caller, body.get("from_agent"))
    workflow = body["payload"].get("workflow")
    if isinstance(workflow, Mapping) and isinstance(workflow.get("owner_agent"), str):
        parts.agency.sender(caller, workflow["owner_agent"], "payload.workflow.owner_agent")
    reminders = {name: body[name] for name in _REMINDERS if body.get(name) is not None}
    if "escalate_to" in reminders:
        reminders["escalate_to"] = checked_address(reminders["escalate_to"], "escalate_to")
    reply_to = body.get("reply_to")
    intent, _ = await parts.intake.submit(
        Submission(
            envelope=_envelope(parts, sender, body),
            submitted_by=str(caller),
            acting=parts.acting(caller, sender),
            reply_to=checked_address(reply_to, "reply_to") if reply_to is not None else None,
            deadline_at=body.get("deadline_at"),
            reminders=reminders,
        )
    )
    return intent


def _envelope(parts: GatewayParts, sender: str, body: Mapping[str, Any]) -> dict[str, Any]:
    now = parts.clock.now_us()
    envelope = {
        "version": "v1",
        "intent_type": body["intent_type"],
        "intent_id": body.get("intent_id") or parts.mint(now),
        "correlation_id": body.get("correlation_id") or parts.mint(now),
        "created_at": body.get("created_at") or to_text(now),
        "from_agent": sender,
        "to_agent": checked_address(body["to_agent"], "to_agent"),
        "payload": dict(body["payload"]),
    }
    optional = {"idempotency_key": body.get("idempotency_key"), "metadata": body.get("metadata")}
    return envelope | {name: value for name, value in optional.items() if value is not None}


# Intents: submit, look, follow, end.

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
    )
    async def submit_intent(body: SubmitRequest, caller: Caller, key: IdempotencyKey) -> SubmitAnswer:
        envelope = body.model_dump() | {"idempotency_key": agreed_key(key, body.idempotency_key)}
        intent = await submit(parts, caller, envelope)
        return SubmitAnswer.of(IntentReceipt.of(intent, as_at_first=key is not None))

    @router.get(
        "/v1/intents/{intent_id}",
        operation_id="getIntent",
        summary="What became of an intent",
    )
    async def get(intent_id: Id, caller: Caller, owner: _OwnAgent = None) -> IntentAnswer:
        return IntentAnswer.of(await parts.threads.visible(parts.acting(caller, owner), intent_id))

    @router.get(
        "/v1/macros",
        operation_id="listMacros",
        summary="Ways to pursue an ask",
    )
    async def macros(_caller: Caller) -> MacrosAnswer:
        return MacrosAnswer(ok=True, macros=[MacroBody.of(macro) for macro in MACROS.values()])


def _add_events(router: APIRouter, parts: GatewayParts) -> None:
    @router.get(
        "/v1/intents/{intent_id}/events",
        operation_id="listIntentEvents",
        summary="Everything that happened to an intent",
    )
    async def events(intent_id: Id, caller: Caller, since: Since = 0, owner: _OwnAgent = None) -> EventsAnswer:
        await parts.threads.visible(parts.acting(caller, owner), intent_id)
        found = await parts.threads.store.events(intent_id, since=since, limit=_PAGE)
        return EventsAnswer(ok=True, events=[EventBody.of(event) for event in found])

    @router.get(
        "/v1/intents/{intent_id}/events/stream",
        operation_id="streamIntentEvents",
        summary="The same, as it happens",
        response_class=StreamingResponse,
        responses=_STREAM,
    )
    async def follow(
        intent_id: Id, caller: Caller, since: Since = 0, wait_seconds: Wait = 30.0, owner: _OwnAgent = None
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
                StreamEvent(name=str(one.event_type), id=str(one.seq), data=EventBody.of(one).model_dump())
                for one in found
            ], ended

        return stream(fetch, parts.signal, parts.clock, wait_seconds)


def _add_ends(router: APIRouter, parts: GatewayParts) -> None:
    @router.post(
        "/v1/intents/{intent_id}/resolve",
        operation_id="resolveIntent",
        summary="End an intent: completed or failed by whoever was asked, canceled by the sender",
    )
    async def resolve(
        intent_id: Id, body: ResolveIntentRequest, caller: Caller, owner: _OwnAgent = None
    ) -> ResolveIntentAnswer:
        change = await parts.threads.resolve(
            parts.acting(caller, owner), intent_id, IntentStatus(body.status), _outcome(body)
        )
        return ResolveIntentAnswer(
            ok=True,
            intent=IntentBody.of(change.intent),
            event=EventBody.of(change.events[-1]),
            completion_delivery=CompletionDelivery.of(change.intent),
        )

    @router.post(
        "/v1/intents/{intent_id}/resume",
        operation_id="resumeIntent",
        summary="Let a waiting intent go on, or end it with the result of a task",
    )
    async def resume(intent_id: Id, body: ResumeRequest, caller: Caller, owner: _OwnAgent = None) -> IntentAnswer:
        refuse(unsendable(body.task_result, "task_result"))
        intent = await parts.threads.resume(parts.acting(caller, owner), intent_id, body.task_result)
        return IntentAnswer.of(intent)


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
        status: _Statuses = None,
    ) -> StreamingResponse:
        agent = parts.agency.sender(caller, checked_address(f"agent://{address}", "address"), "address")
        seen = _place_of(since)
        wanted = {"statuses": _statuses_of(status)} if status else {}

        async def fetch() -> tuple[list[StreamEvent], bool]:
            nonlocal seen
            found = await parts.threads.inbox.arrived(agent, after=seen, limit=_PAGE, **wanted)
            seen = found[-1][0] if found else seen
            delivered = [(place, await parts.threads.fetched(agent, one)) for place, one in found]
            return [
                StreamEvent(name="intent.submitted", id=one.id, data=IntentBody.of(one).model_dump() | {"seq": place})
                for place, one in delivered
            ], False

        return stream(fetch, parts.signal, parts.clock, wait_seconds)


# News of them as server-sent events.

_LOOK_AGAIN_SECONDS: Final = 2.0  # another process may have news that rings nothing here

Fetch = Callable[[], Awaitable[tuple[Sequence[StreamEvent], bool]]]  # what is new, and whether nothing more will come


def stream(fetch: Fetch, signal: Signal, clock: Clock, wait_seconds: float) -> StreamingResponse:
    """News as it comes; `stream.end` when there can be no more, `stream.timeout` when the time is up."""

    async def look(_: Signal) -> AsyncGenerator[StreamEvent | End, None]:
        events, has_ended = await fetch()
        for event in events:
            yield event
        if has_ended:
            yield StreamEvent(name="stream.end", data={})
            yield End()

    return EventStream(
        look=look,
        listening=nullcontext(signal),
        clock=clock,
        life_seconds=wait_seconds,
        pause_seconds=_LOOK_AGAIN_SECONDS,
        last=StreamEvent(name="stream.timeout", data={}),
        has_heartbeat=False,
    ).response()


# The inbox of an agent.

Folder = Annotated[FolderName | None, Query()]


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
    )
    async def listed(
        caller: Caller, owner: _OwnAgent = None, status: Folder = None, cursor: Cursor = None, limit: Limit = 50
    ) -> InboxAnswer:
        return await parts.threads.page(parts.acting(caller, owner).agent, status, cursor, limit)

    @router.get(
        "/changes",
        operation_id="listInboxChanges",
        summary="What happened since",
        description="Every event once, as it was committed. After a cursor whose thread was removed: what is younger.",
    )
    async def changes(
        caller: Caller, owner: _OwnAgent = None, cursor: Cursor = None, limit: Limit = 100
    ) -> ChangesAnswer:
        return await parts.threads.changes(parts.acting(caller, owner).agent, cursor, limit)

    @router.get(
        "/{thread_id}",
        operation_id="getThread",
        summary="A thread with everything said and done in it",
    )
    async def thread(thread_id: Id, caller: Caller, owner: _OwnAgent = None) -> ThreadAnswer:
        return ThreadAnswer(ok=True, thread=await parts.threads.thread(parts.acting(caller, owner), thread_id))


def _add_answering(router: APIRouter, parts: GatewayParts) -> None:
    @router.post(
        "/{thread_id}/reply",
        operation_id="replyInThread",
        summary="Answer what was asked",
    )
    async def reply(thread_id: Id, body: ReplyRequest, caller: Caller, owner: _OwnAgent = None) -> IntentAnswer:
        return IntentAnswer.of(await parts.threads.reply(parts.acting(caller, owner), thread_id, body.message))

    @router.post(
        "/{thread_id}/approve",
        operation_id="approveThread",
        summary="Say yes, as a person",
    )
    async def approve(thread_id: Id, body: DecisionRequest, caller: Caller, owner: _OwnAgent = None) -> IntentAnswer:
        acting = parts.acting(caller, owner)
        return IntentAnswer.of(await parts.threads.decide(acting, thread_id, approve=True, comment=body.comment))

    @router.post(
        "/{thread_id}/reject",
        operation_id="rejectThread",
        summary="Say no, as a person",
    )
    async def reject(thread_id: Id, body: DecisionRequest, caller: Caller, owner: _OwnAgent = None) -> IntentAnswer:
        acting = parts.acting(caller, owner)
        return IntentAnswer.of(await parts.threads.decide(acting, thread_id, approve=False, comment=body.comment))

    @router.post(
        "/{thread_id}/delegate",
        operation_id="delegateThread",
        summary="Let somebody else answer",
    )
    async def delegate(thread_id: Id, body: DelegateRequest, caller: Caller, owner: _OwnAgent = None) -> IntentAnswer:
        to = checked_address(body.delegate_to, "delegate_to")
        return IntentAnswer.of(await parts.threads.delegate(parts.acting(caller, owner), thread_id, to, body.note))


# Subscriptions to its news.


def webhook_router(parts: GatewayParts) -> APIRouter:
    router = APIRouter(
        route_class=JsonRoute, tags=["webhooks"], prefix="/v1/webhooks/subscriptions", responses=REFUSALS
    )

    @router.post(
        "",
        operation_id="saveSubscription",
        summary="Be told of news at a URL; saving the same URL again changes it",
    )
    async def save(
        body: SubscriptionRequest, caller: Caller, reserved_id: ReservedId, owner: _OwnAgent = None
    ) -> SubscriptionAnswer:
        agent, now = _person(parts, caller, owner), parts.clock.now_us()
        _check_url(body.callback_url)
        saved = await parts.subscriptions.save(
            Subscription(
                id=reserved_id or parts.mint(now),
                owner_agent=agent,
                callback_url=body.callback_url,
                event_types=tuple(WebhookEvent(one) for one in dict.fromkeys(body.event_types)),
                secret=body.secret,
                active=body.active,
                description=body.description,
                created_at_us=now,
                updated_at_us=now,
            )
        )
        return SubscriptionAnswer(ok=True, subscription=SubscriptionBody.of(saved))

    @router.get(
        "",
        operation_id="listSubscriptions",
        summary="Who is told",
    )
    async def listed(caller: Caller, owner: _OwnAgent = None) -> SubscriptionsAnswer:
        found = await parts.subscriptions.listed(_person(parts, caller, owner))
        return SubscriptionsAnswer(ok=True, subscriptions=[SubscriptionBody.of(one) for one in found])

    @router.delete(
        "/{subscription_id}",
        operation_id="deleteSubscription",
        summary="Be told no more",
    )
    async def delete(subscription_id: Id, caller: Caller, owner: _OwnAgent = None) -> Done:
        if not await parts.subscriptions.delete(_person(parts, caller, owner), subscription_id):
            raise Refused(Code.NOT_FOUND, "there is no such subscription")
        return Done(ok=True)

    return router


def _person(parts: GatewayParts, caller: Principal, owner: str | None) -> str:
    """A model that could subscribe could have the household's news sent anywhere."""
    agent = parts.acting(caller, owner).agent
    if not caller.is_person:
        raise Refused(Code.POLICY_DENIED, "only a person can subscribe to news")
    return agent


def _check_url(url: str) -> None:
    try:
        split = urlsplit(url)
        valid = bool(split.hostname) and split.username is None and split.port != 0
    except ValueError:
        valid = False
    if not valid:
        error = "must be a plain http or https URL"
        raise Refused.of(Code.SCHEMA_INVALID, [FieldError("callback_url", error, "url")])
