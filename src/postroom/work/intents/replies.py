"""A person's answer finds the intent it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Protocol

from postroom.domain.assurance import Assurance
from postroom.domain.clock import Clock
from postroom.domain.delivery import Intent
from postroom.domain.errors import Refused
from postroom.domain.fields import text_problem
from postroom.domain.inbound_reply import InboundReply
from postroom.domain.intent import APPROVAL, AgentIntent, IntentChange, StepKind
from postroom.domain.outgoing import Outgoing, RequestContext
from postroom.domain.ports import Outbound
from postroom.system.signal import Signal
from postroom.work.intents.answering import answer_payload, answered, undecided
from postroom.work.intents.directory import Directory, PersonTarget
from postroom.work.intents.dispatch import ORIGIN
from postroom.work.intents.moves import MoveContext, unchanged
from postroom.work.intents.store import IntentStore

MAX_ANSWER_CHARACTERS: Final = 5000
NOT_VERIFIED: Final = (
    "What you wrote is kept, and nothing is decided by it: this address is not verified yet. "
    "Ask the owner of the household to verify it, then reply again."
)
NOT_CERTAIN: Final = (
    "What you wrote is kept, and nothing is decided by it: a sender here could be forged. Use the console."
)


class SentMessages(Protocol):
    async def behind(self, channel: str, address: str, provider_id: str) -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentReplies:
    store: IntentStore
    sent: SentMessages
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
        intent_id = await self.sent.behind(reply.channel, reply.address, reply.provider_id)
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
        return answered(intent, answer_payload(text, moment), moment)


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
