"""What the gateway's doors do: as whom a caller acts, what they submit, and news of intents as it comes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from starlette.responses import StreamingResponse

from postroom.intents.bodies import EventBody, IntentBody
from postroom.intents.directory import Acting
from postroom.intents.envelope import Envelope
from postroom.intents.gateway import Intake, Submission
from postroom.intents.model import AgentIntent, IntentStatus
from postroom.intents.threads import Threads
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.serving.json_door import End, EventStream, StreamEvent
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import Agency, Principal, Role, checked_address
from postroom.kernel.webhooks import StoredWebhooks

if TYPE_CHECKING:
    from postroom.intents.acts import SubmitIntent

MOST_EVENTS: Final = 500
_LOOK_AGAIN_SECONDS: Final = 2.0  # another process may have news that rings nothing here

Fetch = Callable[[], Awaitable[tuple[Sequence[StreamEvent], bool]]]  # what is new, and whether nothing more will come


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentDesk:
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

    async def submit(self, caller: Principal, asked: SubmitIntent, key: str | None) -> AgentIntent:
        """The sender comes from the token; what was sent may only repeat it."""
        sender = self.agency.sender(caller, asked.from_agent)
        workflow = asked.payload.get("workflow")
        if isinstance(workflow, dict) and isinstance(workflow.get("owner_agent"), str):
            self.agency.sender(caller, workflow["owner_agent"], "payload.workflow.owner_agent")
        intent, _ = await self.intake.submit(
            Submission(
                envelope=self._envelope(sender, asked, key),
                submitted_by=str(caller),
                acting=self.acting(caller, sender),
                reply_to=None if asked.reply_to is None else checked_address(asked.reply_to, "reply_to"),
                deadline_at=asked.deadline_at,
                reminders=asked.reminders,
            )
        )
        return intent

    def _envelope(self, sender: str, asked: SubmitIntent, key: str | None) -> Envelope:
        now = self.clock.now_us()
        return Envelope(
            intent_type=asked.intent_type,
            intent_id=asked.intent_id or self.mint(now),
            correlation_id=asked.correlation_id or self.mint(now),
            created_at=asked.created_at or to_text(now),
            from_agent=sender,
            to_agent=checked_address(asked.to_agent, "to_agent"),
            payload=asked.payload,
            metadata=asked.metadata,
            idempotency_key=key,
        )

    # News as it comes.

    async def follow(self, acting: Acting, intent_id: str, since: int, wait_seconds: float) -> StreamingResponse:
        """What happens to one intent, until it is over."""
        await self.threads.visible(acting, intent_id)
        store, seen = self.threads.store, since

        async def fetch() -> tuple[list[StreamEvent], bool]:
            nonlocal seen
            found = await store.events(intent_id, since=seen, limit=MOST_EVENTS)
            seen = found[-1].seq if found else seen
            intent = await store.get(intent_id)
            ended = intent is None or (not intent.is_open and seen >= intent.seq)
            told = [(one, EventBody.model_validate(one).model_dump()) for one in found]
            return [StreamEvent(name=str(one.event_type), id=str(one.seq), data=data) for one, data in told], ended

        return stream(fetch, self.signal, self.clock, wait_seconds)

    def incoming(
        self, agent: str, since: str | int | None, statuses: Sequence[IntentStatus], wait_seconds: float
    ) -> StreamingResponse:
        """What is put to an agent: reading an intent delivers it."""
        seen = since

        async def fetch() -> tuple[list[StreamEvent], bool]:
            nonlocal seen
            found = await self.threads.inbox.arrived(agent, after=seen, limit=MOST_EVENTS, statuses=statuses)
            seen = found[-1][0] if found else seen
            delivered = [(place, await self.threads.fetched(agent, one)) for place, one in found]
            return [
                StreamEvent(
                    name="intent.submitted",
                    id=one.id,
                    data=IntentBody.model_validate(one).model_dump() | {"seq": place},
                )
                for place, one in delivered
            ], False

        return stream(fetch, self.signal, self.clock, wait_seconds)


def stream(fetch: Fetch, signal: Signal, clock: Clock, wait_seconds: float) -> StreamingResponse:
    """`stream.end` when there can be no more, `stream.timeout` when the time is up."""

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
