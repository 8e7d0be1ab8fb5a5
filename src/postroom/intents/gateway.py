"""Take an intent in: checked, planned, stored once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final

from starlette.responses import StreamingResponse

from postroom.delivery.afterwards.webhooks import StoredWebhooks
from postroom.intents.bodies import EventBody, IntentBody
from postroom.intents.directory import Acting, Directory, PersonTarget, check_may_answer
from postroom.intents.envelope import Envelope, check_envelope, compile_macro, patient_steps
from postroom.intents.model import (
    APPROVAL,
    ASK,
    MAX_ANSWER_CHARACTERS,
    NO_REMINDERS,
    ORIGIN,
    REPLY,
    AgentIntent,
    GivenAnswer,
    IntentChange,
    IntentStatus,
    MoveContext,
    Reminders,
    Step,
    StepKind,
    WaitingReason,
    answered,
    given_answer,
    opened,
    unchanged,
    undecided,
)
from postroom.intents.store import StoredIntents
from postroom.intents.threads import Threads
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.serving.json_door import End, EventStream, StreamEvent
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.fields import text_problem, without_none
from postroom.kernel.values.ids import parse_text, to_text
from postroom.kernel.values.principal import Agency, Principal, Role, checked_address
from postroom.message.channel import Outbound
from postroom.message.delivery import Intent
from postroom.message.inbound import Assurance, InboundReply
from postroom.message.outgoing import Outgoing, RequestContext

if TYPE_CHECKING:
    from postroom.intents.acts import SubmitIntent


_MAX_BYTES: Final = 131_072
_VOLATILE: Final = frozenset({"requested_at", "responded_at"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """An envelope whose sender is already known to be who the token says, by whom, and how to pursue it."""

    envelope: Envelope
    acting: Acting
    reply_to: str | None = None
    deadline_at: str | None = None
    reminders: Reminders = NO_REMINDERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    store: StoredIntents
    directory: Directory
    signal: Signal
    clock: Clock
    mint: Callable[[int], str]

    async def submit(self, submission: Submission) -> tuple[AgentIntent, bool]:
        """The same key and content answer with the first one; the same key and other content is a mistake."""
        document = submission.envelope.document()
        check_envelope(document)
        if len(json.dumps(document).encode()) > _MAX_BYTES:
            raise Refused(Code.TOO_LARGE, f"an intent may have at most {_MAX_BYTES} bytes")
        now = self.clock.now_us()
        intent = _intent(submission, now)
        for step in intent.plan:
            if step.kind is not StepKind.EXPIRE:
                await self.directory.find(intent.from_agent, step.to_agent)
        if intent.macro_id == APPROVAL:
            await self._check_approvers(intent)
        moment = MoveContext(now, intent.from_agent, self.mint)
        stored, created = await self.store.insert(opened(intent, moment))
        if stored.fingerprint != intent.fingerprint:
            raise Refused(Code.KEY_REUSED, "this idempotency key or intent_id was used for another intent")
        await self._answer_asks(stored, submission.acting, again=not created)
        if created:
            self.signal.ring()
        return stored, created

    async def _check_approvers(self, intent: AgentIntent) -> None:
        for step in intent.plan:
            if step.kind is StepKind.EXPIRE or await self.directory.is_person(intent.from_agent, step.to_agent):
                continue
            field, error = _approver_field(intent, step), "must be a person: the household's owner, a user or a contact"
            raise Refused.of(Code.MACRO_INVALID, [FieldError(field, error, "macro_invalid")])

    async def _answer_asks(self, reply: AgentIntent, acting: Acting, *, again: bool) -> None:
        """
        A reply under the correlation of an open ask is its answer.

        One that is sent again may have been cut short between being stored and
        being counted. An ask that waits for an answer to it has counted it, and
        one that came later it does not answer.
        """
        if reply.intent_type != REPLY:
            return
        moment = MoveContext(self.clock.now_us(), acting.actor, self.mint)
        given = GivenAnswer(**{name: value for name, value in reply.payload.items() if name != "workflow"})

        def answer(found: AgentIntent) -> IntentChange:
            check_may_answer(found, acting)
            return answered(found, given, moment)

        for ask in await self.store.open_asks(reply.correlation_id, reply.to_agent):
            if again and (ask.waiting_reason is WaitingReason.AGENT or ask.created_at_us > reply.created_at_us):
                continue
            if reply.from_agent in ask.asked:
                with suppress(Refused):  # not for this caller to answer, or another was faster
                    await self.store.update(ask.id, answer)


def _approver_field(intent: AgentIntent, step: Step) -> str:
    """Where the sender named whom this step asks."""
    if step.kind is StepKind.ESCALATE:
        return "payload.workflow.params.escalate_to"
    named = (intent.payload["workflow"].get("params") or {}).get("approver") is not None
    return "payload.workflow.params.approver" if named else "to_agent"


def _intent(submission: Submission, now_us: int) -> AgentIntent:
    envelope = submission.envelope
    deadline = _deadline(submission, now_us)
    macro_id, plan = _plan(submission, deadline, now_us)
    return AgentIntent(
        id=envelope.intent_id.lower(),
        intent_type=envelope.intent_type,
        correlation_id=envelope.correlation_id.lower(),
        from_agent=envelope.from_agent,
        to_agent=envelope.to_agent,
        handler=plan[0].to_agent if macro_id == APPROVAL else envelope.to_agent,
        payload=envelope.payload,
        metadata=envelope.metadata or {},
        idempotency_key=envelope.idempotency_key,
        fingerprint=_fingerprint(submission),
        submitted_by=submission.acting.caller,
        reply_to=submission.reply_to,
        deadline_at_us=deadline,
        macro_id=macro_id,
        status=IntentStatus.CREATED,
        waiting_reason=None,
        seq=0,
        plan=plan,
        position=0,
        next_at_us=plan[0].at_us,
        carried=False,
        result=None,
        created_at_us=now_us,
        updated_at_us=now_us,
    )


def _plan(submission: Submission, deadline_us: int | None, now_us: int) -> tuple[str | None, tuple[Step, ...]]:
    envelope = submission.envelope
    to_agent, workflow = envelope.to_agent, envelope.payload.get("workflow")
    if envelope.intent_type != ASK:
        if workflow:
            raise Refused(Code.MACRO_INVALID, "payload.workflow: only an ask can be pursued by a macro")
        return None, (Step(StepKind.ASK, now_us, to_agent),)
    if workflow:
        return compile_macro(workflow, to_agent=to_agent, now_us=now_us)
    return None, patient_steps(
        to_agent=to_agent, now_us=now_us, deadline_at_us=deadline_us, reminders=submission.reminders
    )


def _deadline(submission: Submission, now_us: int) -> int | None:
    text = submission.deadline_at or submission.envelope.payload.get("deadline_at")
    if text is None:
        return None
    try:
        deadline = parse_text(str(text))
    except (ValueError, OverflowError):
        deadline = 0
    if deadline <= now_us:
        error = "must be a date-time that is still to come"
        raise Refused.of(Code.SCHEMA_INVALID, [FieldError("deadline_at", error, "format")])
    return deadline


def _fingerprint(submission: Submission) -> str:
    """What makes it this intent: not when it was written, nor the ids a retry makes anew."""
    envelope = submission.envelope
    payload = {name: value for name, value in envelope.payload.items() if name not in _VOLATILE}
    parts = [
        envelope.intent_type,
        envelope.from_agent,
        envelope.to_agent,
        payload,
        submission.reply_to,
        submission.deadline_at,
        without_none(asdict(submission.reminders)),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


# A person's answer finds the intent it belongs to.


NOT_VERIFIED: Final = (
    "What you wrote is kept, and nothing is decided by it: this address is not verified yet. "
    "Ask the owner of the household to verify it, then reply again."
)
NOT_CERTAIN: Final = (
    "What you wrote is kept, and nothing is decided by it: a sender here could be forged. Use the console."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentReplies:
    store: StoredIntents
    directory: Directory
    outbound: Outbound
    signal: Signal
    clock: Clock
    mint: Callable[[int], str]

    async def take(self, reply: InboundReply) -> AgentIntent | None:
        """The intent it answered; None for other messages, for everybody but those asked, and for what has ended."""
        text = reply.text.strip()[:MAX_ANSWER_CHARACTERS]
        if not text or text_problem(text):
            return None
        intent_id = await self.store.behind(reply.channel, reply.address, reply.provider_id)
        intent = await self.store.get(intent_id) if intent_id is not None else None
        writer = await self._writer(intent, reply) if intent is not None else None
        if intent is None or writer is None:
            return None
        try:
            change = await self.store.update(intent.id, lambda found: self._answer(found, text, writer, reply))
        except Refused:
            return None
        self.signal.ring()
        if change.intent.is_open and not _may_decide(change.intent, writer, reply):
            await self.outbound.submit(_not_decided(intent.id, writer, reply), request_id=intent.id, wait_seconds=0)
        return change.intent

    async def _writer(self, intent: AgentIntent, reply: InboundReply) -> PersonTarget | None:
        """Who of those asked wrote this: by the sender's own address, for many may write in one chat."""
        for agent in sorted(_put_to(intent, self.clock.now_us())):
            with suppress(Refused):  # not in the book any more
                target = await self.directory.find(intent.from_agent, agent)
                if isinstance(target, PersonTarget) and (target.channel, target.address) == (
                    reply.channel,
                    reply.sender,
                ):
                    return replace(target, agent=agent)
        return None

    def _answer(self, intent: AgentIntent, text: str, writer: PersonTarget, reply: InboundReply) -> IntentChange:
        if not intent.is_open or writer.agent not in _put_to(intent, self.clock.now_us()):
            return unchanged(intent)
        moment = MoveContext(self.clock.now_us(), writer.agent, self.mint)
        if not _may_decide(intent, writer, reply):
            return undecided(intent, text, moment)
        return answered(intent, given_answer(text, moment), moment)


def _may_decide(intent: AgentIntent, writer: PersonTarget, reply: InboundReply) -> bool:
    """To answer needs less than to approve: that takes a proved address, and a sender that cannot be forged."""
    certain = writer.proved and reply.assurance.rank >= Assurance.CHANNEL.rank
    return certain or intent.macro_id != APPROVAL


def _not_decided(intent_id: str, writer: PersonTarget, reply: InboundReply) -> Outgoing:
    """Once for each question, as a reply to what they wrote, so that no person is asked to agree to it."""
    context = RequestContext(
        request_id=intent_id,
        source_channel=reply.channel,
        source_endpoint_identity=ORIGIN,
        source_sender_identity=reply.address,
        source_thread_identity=reply.thread,
    )
    return Outgoing(
        origin_butler=ORIGIN,
        intent=Intent.REPLY,
        channel=reply.channel,
        message=NOT_CERTAIN if writer.proved else NOT_VERIFIED,
        context=context,
        idempotency_key=f"{intent_id}:not_decided:{reply.channel}:{reply.sender}",
    )


def _put_to(intent: AgentIntent, now_us: int) -> frozenset[str]:
    """With the person whose message has just left: a quick answer must not be lost because that is not noted yet."""
    leaving = intent.plan[intent.position : intent.position + 1]
    asking = (step for step in leaving if step.kind in (StepKind.ASK, StepKind.ESCALATE) and step.at_us <= now_us)
    return intent.asked | {step.to_agent for step in asking}


# What the gateway's doors do: as whom a caller acts, what they submit, and news of intents as it comes.


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
