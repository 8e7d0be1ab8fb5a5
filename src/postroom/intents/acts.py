"""What callers can do with intents: send and follow them, answer what an agent was asked, subscribe to the news."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field

from postroom.delivery.afterwards.webhooks import Subscription, WebhookEvent
from postroom.intents.bodies import (
    ChangesAnswer,
    EventsAnswer,
    InboxAnswer,
    IntentAnswer,
    MacrosAnswer,
    ResolveIntentAnswer,
    StreamedEvent,
    SubmitAnswer,
    SubscriptionAnswer,
    SubscriptionBody,
    SubscriptionRemoved,
    SubscriptionsAnswer,
    ThreadAnswer,
)
from postroom.intents.model import UNANSWERED, Folder, IntentEnding, IntentStatus, Reminders
from postroom.kernel.acts.declaration import Act, Answer, Call, Complain, HttpRoute, act, said
from postroom.kernel.values.errors import Code, Refused
from postroom.kernel.values.principal import EVERYONE, PEOPLE, agreed_key, checked_address

if TYPE_CHECKING:
    from postroom.intents.directory import Acting
    from postroom.intents.gateway import IntentDesk

    Desk = Call[IntentDesk]

_MOST_EVENTS: Final = 500
_WORDS: Final = "|".join(IntentStatus)
_FORM: Final = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
_IN_QUERY: Final = ("owner_agent",)

Agent = Annotated[str, Field(min_length=3, max_length=255, examples=["agent://household/owner"])]
Uuid = Annotated[str, Field(max_length=36, pattern=_FORM)]
Lower = BeforeValidator(lambda value: value.lower() if isinstance(value, str) else value)
Id = Annotated[Uuid, Lower]
Reply = Annotated[str, Field(min_length=1, max_length=5000)]
_Limit = Annotated[int, Field(ge=1, le=200)]
_Pause = Annotated[int, Field(ge=1, le=2_592_000)]
_Remark = Annotated[str, Field(max_length=2000)]
_Seen = Annotated[int, Field(ge=0, le=2_000_000_000)]
_Wait = Annotated[float, Field(ge=0, le=60)]
_Place = Annotated[str, Field(max_length=36, pattern=f"^[0-9]{{1,18}}$|{_FORM}"), Lower]
_Statuses = Annotated[str, Field(max_length=128, pattern=f"^({_WORDS})(,({_WORDS}))*$")]

_INTENT: Final = "The id that the answer of submitting it named."
_THREAD: Final = "The id of the intent that began it."
_WAIT: Final = "How long the stream stays open without an end."


class _IntentAct(Act[Answer]):
    malformed: ClassVar[Code] = Code.SCHEMA_INVALID


class _AsAgent(_IntentAct[Answer]):
    owner_agent: Annotated[str, Field(max_length=255)] | None = said("As whom; the caller's own agent by default.")

    def acting(self, call: Desk) -> Acting:
        return call.work.acting(call.caller, self.owner_agent)


# Intents: submit, look, follow, end.


@act(by=EVERYONE, route=HttpRoute("POST /v1/intents", "intents"))
class SubmitIntent(_IntentAct[SubmitAnswer]):
    """
    Send an ask or a reply. Accepted means stored; the same idempotency key and content answer with the first intent
    """

    version: Literal["v1"] = said("Of the envelope.", "v1")
    intent_type: Annotated[str, Field(max_length=64, examples=["intent.ask.v1"])] = said("An ask or a reply.", ...)
    intent_id: Uuid | None = said("Made here if not given.")
    correlation_id: Uuid | None = said("The conversation this belongs to; of a reply that of the ask.")
    created_at: Annotated[str, Field(max_length=64)] | None = said("RFC 3339; now by default.")
    from_agent: Agent | None = said("As whom; the caller's own agent by default.")
    to_agent: Agent = said("Who is asked or answered.", ...)
    payload: dict[str, Any] = said("As the type of the intent has it.", ...)
    idempotency_key: Annotated[str, Field(min_length=8, max_length=128)] | None = said("The same key sends once.")
    metadata: dict[str, Annotated[str, Field(max_length=1000)]] | None = said("Kept with the intent.")
    reply_to: Agent | None = said("Which agent has the end of it besides the sender.")
    deadline_at: Annotated[str, Field(max_length=64)] | None = said("RFC 3339: until when an answer is of use.")
    remind_after_seconds: _Pause | None = said("When to remind of an ask that has no answer.")
    remind_interval_seconds: _Pause | None = said("How long between reminders; as before the first by default.")
    max_reminders: Annotated[int, Field(ge=1, le=20)] | None = said("How often to remind, at most; once by default.")
    escalate_to: Agent | None = said("Whom to ask when the reminders have brought no answer.")

    @property
    def reminders(self) -> Reminders:
        return Reminders(
            remind_after_seconds=self.remind_after_seconds,
            remind_interval_seconds=self.remind_interval_seconds,
            max_reminders=self.max_reminders,
            escalate_to=None if self.escalate_to is None else checked_address(self.escalate_to, "escalate_to"),
        )

    async def do(self, call: Desk) -> SubmitAnswer:
        intent = await call.work.submit(call.caller, self, agreed_key(call.key, self.idempotency_key))
        return SubmitAnswer.of(intent, as_at_first=call.key is not None)


class _OfIntent(_AsAgent[Answer]):
    intent_id: Id = said(_INTENT, ...)


@act(by=EVERYONE, route=HttpRoute("GET /v1/intents/{intent_id}", "intents"))
class GetIntent(_OfIntent[IntentAnswer]):
    """What became of an intent"""

    async def do(self, call: Desk) -> IntentAnswer:
        return IntentAnswer.of(await call.work.threads.visible(self.acting(call), self.intent_id))


@act(by=EVERYONE, route=HttpRoute("GET /v1/macros", "intents"))
class ListMacros(_IntentAct[MacrosAnswer]):
    """Ways to pursue an ask"""

    async def do(self, call: Desk) -> MacrosAnswer:
        return MacrosAnswer.all()


@act(by=EVERYONE, route=HttpRoute("GET /v1/intents/{intent_id}/events", "intents"))
class ListIntentEvents(_OfIntent[EventsAnswer]):
    """Everything that happened to an intent"""

    since: _Seen = said("The last `seq` you have seen.", 0)

    async def do(self, call: Desk) -> EventsAnswer:
        await call.work.threads.visible(self.acting(call), self.intent_id)
        found = await call.work.threads.store.events(self.intent_id, since=self.since, limit=_MOST_EVENTS)
        return EventsAnswer.model_validate({"events": found})


@act(by=EVERYONE, route=HttpRoute("GET /v1/intents/{intent_id}/events/stream", "intents", streams=True))
class StreamIntentEvents(_OfIntent[StreamedEvent]):
    """The same, as it happens"""

    since: _Seen = said("The last `seq` you have seen.", 0)
    wait_seconds: _Wait = said(_WAIT, 30.0)

    async def do(self, call: Desk) -> Any:
        return await call.work.follow(self.acting(call), self.intent_id, self.since, self.wait_seconds)


@act(by=EVERYONE, route=HttpRoute("POST /v1/intents/{intent_id}/resolve", "intents", in_query=_IN_QUERY))
class ResolveIntent(_OfIntent[ResolveIntentAnswer]):
    """End an intent: completed or failed by whoever was asked, canceled by the sender"""

    status: Literal["COMPLETED", "FAILED", "CANCELED"] = said("How it ends.", ...)
    result: dict[str, Any] | None = said("Of what is completed.")
    error: dict[str, Any] | None = said("Of what has failed.")
    reason: _Remark | None = said("Why it has failed, or is canceled.")

    async def do(self, call: Desk) -> ResolveIntentAnswer:
        ending = IntentEnding(
            goal=IntentStatus(self.status), result=self.result or {}, error=self.error or {}, reason=self.reason
        )
        return ResolveIntentAnswer.of(await call.work.threads.resolve(self.acting(call), self.intent_id, ending))


@act(by=EVERYONE, route=HttpRoute("POST /v1/intents/{intent_id}/resume", "intents", in_query=_IN_QUERY))
class ResumeIntent(_OfIntent[IntentAnswer]):
    """Let a waiting intent go on, or end it with the result of a task"""

    approve_current_step: Literal[True] = said("There is no other way to go on.", True)
    reason: _Remark | None = said("For the record of whoever calls.")
    task_result: dict[str, Any] | None = said("Ends the intent with this result.")

    async def do(self, call: Desk) -> IntentAnswer:
        return IntentAnswer.of(await call.work.threads.resume(self.acting(call), self.intent_id, self.task_result))


@act(by=EVERYONE, route=HttpRoute("GET /v1/agents/{address:path}/intents/stream", "intents", streams=True))
class StreamAgentIntents(_IntentAct[StreamedEvent]):
    """
    What is put to an agent, as it comes. Reading an intent delivers it. `seq` is its place in this stream; after one
    that was removed meanwhile, everything unanswered comes again
    """

    address: Annotated[str, Field(max_length=200)] = said("Without agent://, for example household/owner.", ...)
    since: _Place | None = said("The last `seq` you have seen, or the last intent.")
    wait_seconds: _Wait = said(_WAIT, 30.0)
    status: _Statuses | None = said("Only of these, such as SUBMITTED,WAITING; unanswered if not given.")

    async def do(self, call: Desk) -> Any:
        named = checked_address(f"agent://{self.address}", "address")
        agent = call.work.agency.sender(call.caller, named, "address")
        since = int(self.since) if self.since and self.since.isdigit() else self.since
        wanted = [IntentStatus(word) for word in self.status.split(",")] if self.status else UNANSWERED
        return call.work.incoming(agent, since, wanted, self.wait_seconds)


# The inbox of an agent.


@act(by=EVERYONE, route=HttpRoute("GET /v1/inbox", "inbox"))
class ListInbox(_AsAgent[InboxAnswer]):
    """Threads, newest first"""

    status: Folder | None = said("Only these; all by default.")
    cursor: Id | None = said("`next_cursor` of the page before.")
    limit: _Limit = said("How many.", 50)

    async def do(self, call: Desk) -> InboxAnswer:
        agent = self.acting(call).agent
        page = await call.work.threads.page(agent, self.status, self.cursor, self.limit)
        return InboxAnswer.of(page, agent)


@act(by=EVERYONE, route=HttpRoute("GET /v1/inbox/changes", "inbox"))
class ListInboxChanges(_AsAgent[ChangesAnswer]):
    """
    What happened since: every event once, as it was committed. After a cursor whose thread was removed, what is younger
    """

    cursor: Id | None = said("`next_cursor` of the page before.")
    limit: _Limit = said("How many.", 100)

    async def do(self, call: Desk) -> ChangesAnswer:
        found = await call.work.threads.changes(self.acting(call).agent, self.cursor, self.limit)
        return ChangesAnswer.model_validate(found)


class _OfThread(_AsAgent[Answer]):
    thread_id: Id = said(_THREAD, ...)


@act(by=EVERYONE, route=HttpRoute("GET /v1/inbox/{thread_id}", "inbox"))
class GetThread(_OfThread[ThreadAnswer]):
    """A thread with everything said and done in it"""

    async def do(self, call: Desk) -> ThreadAnswer:
        acting = self.acting(call)
        return ThreadAnswer.of(await call.work.threads.thread(acting, self.thread_id), acting.agent)


@act(by=EVERYONE, route=HttpRoute("POST /v1/inbox/{thread_id}/reply", "inbox", in_query=_IN_QUERY))
class ReplyInThread(_OfThread[IntentAnswer]):
    """Answer what was asked"""

    message: Reply = said("The answer.", ...)

    async def do(self, call: Desk) -> IntentAnswer:
        return IntentAnswer.of(await call.work.threads.reply(self.acting(call), self.thread_id, self.message))


class _Decision(_OfThread[IntentAnswer]):
    approve: ClassVar[bool]
    comment: _Remark = said("Kept with the decision.", "")

    async def do(self, call: Desk) -> IntentAnswer:
        acting = self.acting(call)
        return IntentAnswer.of(
            await call.work.threads.decide(acting, self.thread_id, approve=self.approve, comment=self.comment)
        )


@act(by=EVERYONE, route=HttpRoute("POST /v1/inbox/{thread_id}/approve", "inbox", in_query=_IN_QUERY))
class ApproveThread(_Decision):
    """Say yes, as a person"""

    approve = True


@act(by=EVERYONE, route=HttpRoute("POST /v1/inbox/{thread_id}/reject", "inbox", in_query=_IN_QUERY))
class RejectThread(_Decision):
    """Say no, as a person"""

    approve = False


@act(by=EVERYONE, route=HttpRoute("POST /v1/inbox/{thread_id}/delegate", "inbox", in_query=_IN_QUERY))
class DelegateThread(_OfThread[IntentAnswer]):
    """Let somebody else answer"""

    delegate_to: Agent = said("Who is asked as well, at once.", ...)
    note: _Remark = said("Kept with the thread.", "")

    async def do(self, call: Desk) -> IntentAnswer:
        to = checked_address(self.delegate_to, "delegate_to")
        return IntentAnswer.of(await call.work.threads.delegate(self.acting(call), self.thread_id, to, self.note))


# Subscriptions to its news: a model that could subscribe could have the household's news sent anywhere.

_PLACE: Final = "/v1/webhooks/subscriptions"


@act(by=PEOPLE, route=HttpRoute(f"POST {_PLACE}", "webhooks", in_query=_IN_QUERY))
class SaveSubscription(_AsAgent[SubscriptionAnswer]):
    """Be told of news at a URL; saving the same URL again changes it"""

    callback_url: Annotated[str, Field(max_length=2000, pattern=r"^https?://[^\s@]+$")] = said("Where to.", ...)
    event_types: Annotated[list[WebhookEvent], Field(min_length=1, max_length=32)] = said("Of what.", ...)
    secret: Annotated[str, Field(min_length=16, max_length=128)] = said("Signs what is sent.", ...)
    active: bool = said("False: told nothing meanwhile.", True)
    description: Annotated[str, Field(max_length=500)] = said("For you.", "")

    def check(self, complain: Complain) -> None:
        if not _is_plain(self.callback_url):
            complain("callback_url", "must be a plain http or https URL", "url")

    async def do(self, call: Desk) -> SubscriptionAnswer:
        agent, now = self.acting(call).agent, call.work.clock.now_us()
        saved = await call.work.subscriptions.save(
            Subscription(
                id=call.reserved_id or call.work.mint(now),
                owner_agent=agent,
                callback_url=self.callback_url,
                event_types=tuple(dict.fromkeys(self.event_types)),
                secret=self.secret,
                active=self.active,
                description=self.description,
                created_at_us=now,
                updated_at_us=now,
            )
        )
        return SubscriptionAnswer(subscription=SubscriptionBody.model_validate(saved))


@act(by=PEOPLE, route=HttpRoute(f"GET {_PLACE}", "webhooks"))
class ListSubscriptions(_AsAgent[SubscriptionsAnswer]):
    """Who is told"""

    async def do(self, call: Desk) -> SubscriptionsAnswer:
        found = await call.work.subscriptions.listed(self.acting(call).agent)
        return SubscriptionsAnswer.model_validate({"subscriptions": found})


@act(by=PEOPLE, route=HttpRoute(f"DELETE {_PLACE}/{{subscription_id}}", "webhooks"))
class DeleteSubscription(_AsAgent[SubscriptionRemoved]):
    """Be told no more"""

    subscription_id: Id = said("As it is listed.", ...)

    async def do(self, call: Desk) -> SubscriptionRemoved:
        if not await call.work.subscriptions.delete(self.acting(call).agent, self.subscription_id):
            raise Refused(Code.NOT_FOUND, "there is no such subscription")
        return SubscriptionRemoved()


def _is_plain(url: str) -> bool:
    try:
        split = urlsplit(url)
        return bool(split.hostname) and split.username is None and split.port != 0
    except ValueError:
        return False


ACTS: Final = (
    SubmitIntent,
    GetIntent,
    ListMacros,
    ListIntentEvents,
    StreamIntentEvents,
    ResolveIntent,
    ResumeIntent,
    StreamAgentIntents,
    ListInbox,
    ListInboxChanges,
    GetThread,
    ReplyInThread,
    ApproveThread,
    RejectThread,
    DelegateThread,
    SaveSubscription,
    ListSubscriptions,
    DeleteSubscription,
)
"""In the order of the routes: a path with a name in it stands after those that it would swallow."""
