"""What the gateway answers: intents, the threads they make for an agent, and who subscribed to their news."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from postroom.delivery.afterwards.webhooks import WebhookEvent
from postroom.intents.envelope import MACROS
from postroom.intents.model import (
    FOLDERS,
    RECEIPT,
    AgentIntent,
    Folder,
    IntentChange,
    IntentEventType,
    IntentStatus,
    ReceiptWord,
    WaitingReason,
)
from postroom.intents.threads import ThreadPage, ThreadStory
from postroom.kernel.acts.declaration import Shape
from postroom.kernel.values.ids import to_text

At = Annotated[str, BeforeValidator(lambda moment: to_text(moment) if isinstance(moment, int) else moment)]
"""A moment of ours in words, and as it is where it comes in words already."""


class SubmitAnswer(Shape):
    """`status` says the protocol's word, `legacy_status` the specification's."""

    ok: bool = True
    intent_id: str
    status: IntentStatus
    lifecycle_status: IntentStatus
    legacy_status: ReceiptWord
    created_at: str

    @classmethod
    def of(cls, intent: AgentIntent, *, as_at_first: bool = False) -> SubmitAnswer:
        """`as_at_first`: the one given when it was stored, whatever has become of it since."""
        status = IntentStatus.SUBMITTED if as_at_first else intent.status
        return cls(
            intent_id=intent.id,
            status=status,
            lifecycle_status=status,
            legacy_status=RECEIPT[status],
            created_at=to_text(intent.created_at_us),
        )


class IntentBody(Shape):
    intent_id: str = Field(validation_alias="id")
    intent_type: str
    correlation_id: str
    from_agent: str
    to_agent: str
    handler: str
    payload: dict[str, Any]
    metadata: dict[str, str]
    reply_to: str | None
    status: IntentStatus
    lifecycle_status: IntentStatus = Field(validation_alias="status")
    legacy_status: ReceiptWord
    waiting_reason: WaitingReason | None
    seq: int
    macro_id: str | None
    remind_count: int
    deadline_at: At | None = Field(validation_alias="deadline_at_us")
    result: dict[str, Any] | None
    created_at: At = Field(validation_alias="created_at_us")
    updated_at: At = Field(validation_alias="updated_at_us")


class IntentAnswer(Shape):
    ok: bool = True
    intent: IntentBody

    @classmethod
    def of(cls, intent: AgentIntent) -> IntentAnswer:
        return cls(intent=IntentBody.model_validate(intent))


class EventBody(Shape):
    event_id: str = Field(validation_alias="id")
    intent_id: str
    seq: int
    event_type: IntentEventType
    status: IntentStatus
    at: At = Field(validation_alias="at_us")
    actor: str | None
    waiting_reason: WaitingReason | None
    payload: dict[str, Any]


class EventsAnswer(Shape):
    ok: bool = True
    events: list[EventBody]


class StreamedEvent(Shape):
    event: str
    data: str
    id: str | None = None


class CompletionDelivery(Shape):
    """How the end of an intent reaches the agent that was to have it; the thread stands in its inbox at once."""

    delivered: bool
    reason: Literal["in_inbox", "reply_to_not_set"]
    reply_to: str | None
    thread_id: str


class ResolveIntentAnswer(Shape):
    ok: bool = True
    intent: IntentBody
    event: EventBody
    completion_delivery: CompletionDelivery

    @classmethod
    def of(cls, change: IntentChange) -> ResolveIntentAnswer:
        reply_to = change.intent.reply_to
        told = CompletionDelivery(
            delivered=reply_to is not None,
            reason="reply_to_not_set" if reply_to is None else "in_inbox",
            reply_to=reply_to,
            thread_id=change.intent.id,
        )
        return cls(
            intent=IntentBody.model_validate(change.intent),
            event=EventBody.model_validate(change.events[-1]),
            completion_delivery=told,
        )


# The threads of an inbox, as one agent sees them.


class ThreadBody(Shape):
    thread_id: str
    intent_type: str
    direction: Literal["sent", "received"]
    from_agent: str
    to_agent: str
    handler: str
    status: Folder
    lifecycle_status: IntentStatus
    message: str
    answer: str | None
    created_at: str
    updated_at: str


class InboxAnswer(Shape):
    ok: bool = True
    threads: list[ThreadBody]
    next_cursor: str | None

    @classmethod
    def of(cls, page: ThreadPage, agent: str) -> InboxAnswer:
        shown = [_thread(one, agent) for one in page.threads]
        return cls(threads=shown, next_cursor=page.next_cursor)


class MessageBody(Shape):
    message_id: str = Field(validation_alias="id")
    author: str
    message: str
    at: At = Field(validation_alias="at_us")


class TimelineEntry(Shape):
    event_id: str = Field(validation_alias="id")
    event_type: IntentEventType
    actor: str | None
    at: At = Field(validation_alias="at_us")
    details: dict[str, Any] = Field(validation_alias="payload")


class WholeThread(ThreadBody):
    intent: IntentBody
    messages: list[MessageBody]
    timeline: list[TimelineEntry]


class ThreadAnswer(Shape):
    ok: bool = True
    thread: WholeThread

    @classmethod
    def of(cls, story: ThreadStory, agent: str) -> ThreadAnswer:
        return cls(
            thread=WholeThread(
                **dict(_thread(story.intent, agent)),
                intent=IntentBody.model_validate(story.intent),
                messages=[MessageBody.model_validate(one) for one in story.messages],
                timeline=[TimelineEntry.model_validate(one) for one in story.events],
            )
        )


class ChangesAnswer(Shape):
    ok: bool = True
    changes: list[EventBody]
    has_more: bool
    next_cursor: str | None


def _thread(intent: AgentIntent, agent: str) -> ThreadBody:
    answer = intent.result.get("answer") if intent.result else None
    return ThreadBody(
        thread_id=intent.id,
        intent_type=intent.intent_type,
        direction="sent" if intent.from_agent == agent else "received",
        from_agent=intent.from_agent,
        to_agent=intent.to_agent,
        handler=intent.handler,
        status=next(name for name, statuses in FOLDERS.items() if intent.status in statuses),
        lifecycle_status=intent.status,
        message=intent.text,
        answer=answer if isinstance(answer, str) else None,
        created_at=to_text(intent.created_at_us),
        updated_at=to_text(intent.updated_at_us),
    )


# Subscriptions to their news, and ways of asking.


class SubscriptionBody(Shape):
    """The secret stays where it is."""

    subscription_id: str = Field(validation_alias="id")
    owner_agent: str
    callback_url: str
    event_types: list[WebhookEvent]
    active: bool
    description: str
    created_at: At = Field(validation_alias="created_at_us")


class SubscriptionAnswer(Shape):
    ok: bool = True
    subscription: SubscriptionBody


class SubscriptionsAnswer(Shape):
    ok: bool = True
    subscriptions: list[SubscriptionBody]


class SubscriptionRemoved(Shape):
    ok: bool = True


class MacroParameter(Shape):
    name: str
    kind: Literal["seconds", "count", "address", "addresses"]
    description: str
    default: Any
    required: bool


class MacroBody(Shape):
    macro_id: str = Field(validation_alias="id")
    description: str
    parameters: list[MacroParameter]


class MacrosAnswer(Shape):
    ok: bool = True
    macros: list[MacroBody]

    @classmethod
    def all(cls) -> MacrosAnswer:
        return cls(macros=[MacroBody.model_validate(one) for one in MACROS.values()])
