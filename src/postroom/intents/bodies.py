"""Bodies of the gateway's requests and answers."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field

from postroom.intents.envelope import Macro
from postroom.intents.model import FOLDERS, RECEIPT, AgentIntent, IntentEvent, IntentReceipt, ReceiptWord, StepKind
from postroom.kernel.serving.json_door import Agent, Strict, Text
from postroom.kernel.values.ids import to_text
from postroom.kernel.webhooks import Subscription, WebhookEvent

UUID: Final = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"

_Lifecycle = Literal[
    "CREATED",
    "SUBMITTED",
    "DELIVERED",
    "ACKNOWLEDGED",
    "IN_PROGRESS",
    "WAITING",
    "COMPLETED",
    "FAILED",
    "CANCELED",
    "TIMED_OUT",
]
Uuid = Annotated[str, Field(pattern=UUID)]
Pause = Annotated[int, Field(ge=1, le=2_592_000)]


class SubmitRequest(Strict):
    """An envelope, or the parts of it that the gateway cannot know."""

    version: Literal["v1"] = "v1"
    intent_type: Annotated[Text, Field(max_length=64, examples=["intent.ask.v1"])]
    intent_id: Uuid | None = None
    correlation_id: Uuid | None = None
    created_at: Annotated[Text | None, Field(max_length=64)] = None
    from_agent: Agent | None = None
    to_agent: Agent
    payload: dict[str, Any]
    idempotency_key: Annotated[Text | None, Field(min_length=8, max_length=128)] = None
    metadata: dict[str, Annotated[Text, Field(max_length=1000)]] | None = None
    reply_to: Agent | None = None
    deadline_at: Annotated[Text | None, Field(max_length=64)] = None
    remind_after_seconds: Pause | None = None
    remind_interval_seconds: Pause | None = None
    max_reminders: Annotated[int | None, Field(ge=1, le=20)] = None
    escalate_to: Agent | None = None


class SubmitAnswer(BaseModel):
    ok: bool
    intent_id: str
    status: _Lifecycle
    lifecycle_status: _Lifecycle
    legacy_status: ReceiptWord
    created_at: str

    @classmethod
    def of(cls, receipt: IntentReceipt) -> SubmitAnswer:
        """`status` says the protocol's word, `legacy_status` the specification's."""
        word: Any = receipt.lifecycle_status
        return cls(
            ok=True,
            intent_id=receipt.intent_id,
            status=word,
            lifecycle_status=word,
            legacy_status=receipt.status,
            created_at=receipt.created_at,
        )


class IntentBody(BaseModel):
    intent_id: str
    intent_type: str
    correlation_id: str
    from_agent: str
    to_agent: str
    handler: str
    payload: dict[str, Any]
    metadata: dict[str, str]
    reply_to: str | None
    status: _Lifecycle
    lifecycle_status: _Lifecycle
    legacy_status: ReceiptWord
    waiting_reason: str | None
    seq: int
    macro_id: str | None
    remind_count: int
    deadline_at: str | None
    result: dict[str, Any] | None
    created_at: str
    updated_at: str

    @classmethod
    def of(cls, intent: AgentIntent) -> IntentBody:
        word: Any = str(intent.status)
        return cls(
            intent_id=intent.id,
            intent_type=intent.intent_type,
            correlation_id=intent.correlation_id,
            from_agent=intent.from_agent,
            to_agent=intent.to_agent,
            handler=intent.handler,
            payload=dict(intent.payload),
            metadata=dict(intent.metadata),
            reply_to=intent.reply_to,
            status=word,
            lifecycle_status=word,
            legacy_status=RECEIPT[intent.status],
            waiting_reason=intent.waiting_reason and str(intent.waiting_reason),
            seq=intent.seq,
            macro_id=intent.macro_id,
            remind_count=sum(step.kind is StepKind.REMIND for step in intent.plan[: intent.position]),
            deadline_at=to_text(intent.deadline_at_us) if intent.deadline_at_us is not None else None,
            result=dict(intent.result) if intent.result is not None else None,
            created_at=to_text(intent.created_at_us),
            updated_at=to_text(intent.updated_at_us),
        )


class IntentAnswer(BaseModel):
    ok: bool
    intent: IntentBody

    @classmethod
    def of(cls, intent: AgentIntent) -> IntentAnswer:
        return cls(ok=True, intent=IntentBody.of(intent))


class EventBody(BaseModel):
    event_id: str
    intent_id: str
    seq: int
    event_type: str
    status: _Lifecycle
    at: str
    actor: str | None
    waiting_reason: str | None
    payload: dict[str, Any]

    @classmethod
    def of(cls, event: IntentEvent) -> EventBody:
        word: Any = str(event.status)
        return cls(
            event_id=event.id,
            intent_id=event.intent_id,
            seq=event.seq,
            event_type=str(event.event_type),
            status=word,
            at=to_text(event.at_us),
            actor=event.actor,
            waiting_reason=event.waiting_reason and str(event.waiting_reason),
            payload=dict(event.payload),
        )


class EventsAnswer(BaseModel):
    ok: bool
    events: list[EventBody]


class ResolveIntentRequest(Strict):
    status: Literal["COMPLETED", "FAILED", "CANCELED"]
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    reason: Annotated[Text | None, Field(max_length=2000)] = None


class CompletionDelivery(BaseModel):
    """How the end of an intent reaches the agent that was to have it; the thread stands in its inbox at once."""

    delivered: bool
    reason: Literal["in_inbox", "reply_to_not_set"]
    reply_to: str | None
    thread_id: str

    @classmethod
    def of(cls, intent: AgentIntent) -> CompletionDelivery:
        wanted = intent.reply_to is not None
        reason: Literal["in_inbox", "reply_to_not_set"] = "in_inbox" if wanted else "reply_to_not_set"
        return cls(delivered=wanted, reason=reason, reply_to=intent.reply_to, thread_id=intent.id)


class ResolveIntentAnswer(BaseModel):
    ok: bool
    intent: IntentBody
    event: EventBody
    completion_delivery: CompletionDelivery


class ResumeRequest(Strict):
    approve_current_step: Literal[True] = True
    reason: Annotated[Text | None, Field(max_length=2000)] = None
    task_result: dict[str, Any] | None = None


class ThreadBody(BaseModel):
    thread_id: str
    intent_type: str
    direction: Literal["sent", "received"]
    from_agent: str
    to_agent: str
    handler: str
    status: Literal["pending", "active", "done"]
    lifecycle_status: _Lifecycle
    message: str
    answer: str | None
    created_at: str
    updated_at: str

    @classmethod
    def of(cls, intent: AgentIntent, agent: str, /, **more: Any) -> Self:
        """As this agent sees it."""
        answer = intent.result.get("answer") if intent.result else None
        return cls(
            thread_id=intent.id,
            intent_type=intent.intent_type,
            direction="sent" if intent.from_agent == agent else "received",
            from_agent=intent.from_agent,
            to_agent=intent.to_agent,
            handler=intent.handler,
            status=next(name for name, statuses in FOLDERS.items() if intent.status in statuses),
            lifecycle_status=cast(_Lifecycle, str(intent.status)),
            message=intent.text,
            answer=answer if isinstance(answer, str) else None,
            created_at=to_text(intent.created_at_us),
            updated_at=to_text(intent.updated_at_us),
            **more,
        )


class InboxAnswer(BaseModel):
    ok: bool
    threads: list[ThreadBody]
    next_cursor: str | None


class MessageBody(BaseModel):
    message_id: str
    author: str
    message: str
    at: str


class TimelineEntry(BaseModel):
    event_id: str
    event_type: str
    actor: str | None
    at: str
    details: dict[str, Any]

    @classmethod
    def of(cls, event: IntentEvent) -> TimelineEntry:
        return cls(
            event_id=event.id,
            event_type=str(event.event_type),
            actor=event.actor,
            at=to_text(event.at_us),
            details=dict(event.payload),
        )


class WholeThread(ThreadBody):
    intent: IntentBody
    messages: list[MessageBody]
    timeline: list[TimelineEntry]


class ThreadAnswer(BaseModel):
    ok: bool
    thread: WholeThread


class ChangesAnswer(BaseModel):
    ok: bool
    changes: list[EventBody]
    has_more: bool
    next_cursor: str | None


class ReplyRequest(Strict):
    message: Annotated[Text, Field(min_length=1, max_length=5000)]


class DecisionRequest(Strict):
    comment: Annotated[Text, Field(max_length=2000)] = ""


class DelegateRequest(Strict):
    delegate_to: Agent
    note: Annotated[Text, Field(max_length=2000)] = ""


class SubscriptionRequest(Strict):
    callback_url: Annotated[Text, Field(max_length=2000, pattern=r"^https?://[^\s@]+$")]
    event_types: Annotated[
        list[
            Literal[
                "inbox.thread_created",
                "inbox.thread_updated",
                "inbox.reply_received",
                "ask.opened",
                "ask.answered",
                "ask.declined",
                "ask.expired",
                "ask.cancelled",
                "ask.revised",
                "delivery.bounced",
            ]
        ],
        Field(min_length=1, max_length=32),
    ]
    secret: Annotated[Text, Field(min_length=16, max_length=128)]
    active: bool = True
    description: Annotated[Text, Field(max_length=500)] = ""


class SubscriptionBody(BaseModel):
    """The secret stays where it is."""

    subscription_id: str
    owner_agent: str
    callback_url: str
    event_types: list[WebhookEvent]
    active: bool
    description: str
    created_at: str

    @classmethod
    def of(cls, subscription: Subscription) -> SubscriptionBody:
        return cls(
            subscription_id=subscription.id,
            owner_agent=subscription.owner_agent,
            callback_url=subscription.callback_url,
            event_types=list(subscription.event_types),
            active=subscription.active,
            description=subscription.description,
            created_at=to_text(subscription.created_at_us),
        )


class SubscriptionAnswer(BaseModel):
    ok: bool
    subscription: SubscriptionBody


class SubscriptionsAnswer(BaseModel):
    ok: bool
    subscriptions: list[SubscriptionBody]


class MacroParameter(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    name: str
    kind: Literal["seconds", "count", "address", "addresses"]
    description: str
    default: Any
    required: bool


class MacroBody(BaseModel):
    macro_id: str
    description: str
    parameters: list[MacroParameter]

    @classmethod
    def of(cls, macro: Macro) -> MacroBody:
        parameters = [MacroParameter.model_validate(one) for one in macro.parameters]
        return cls(macro_id=macro.id, description=macro.description, parameters=parameters)


class MacrosAnswer(BaseModel):
    ok: bool
    macros: list[MacroBody]
