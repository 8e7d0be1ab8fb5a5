"""A person's answer finds the intent it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from postroom.domain.errors import Refused
from postroom.domain.fields import text_problem
from postroom.domain.inbound_reply import InboundReply
from postroom.domain.intent import AgentIntent, IntentChange, StepKind
from postroom.domain.ports import Clock
from postroom.system.signal import Signal
from postroom.work.intents.answering import answer_payload, answered
from postroom.work.intents.directory import Directory, PersonTarget
from postroom.work.intents.moves import MoveContext, unchanged
from postroom.work.intents.store import IntentStore

MAX_ANSWER_CHARACTERS: Final = 5000


class SentMessages(Protocol):
    async def behind(self, channel: str, address: str, provider_id: str) -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentReplies:
    store: IntentStore
    sent: SentMessages
    directory: Directory
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
            change = await self.store.update(intent.id, lambda found: self._answer(found, text, writer))
        except Refused:
            return None
        self.signal.ring()
        return change.intent

    async def _writer(self, intent: AgentIntent, reply: InboundReply) -> str | None:
        """Who of those asked wrote this: by the sender's own address, for many may write in one chat."""
        for agent in sorted(_put_to(intent, self.clock.now_us())):
            with suppress(Refused):  # not in the book any more
                target = await self.directory.find(intent.from_agent, agent)
                if isinstance(target, PersonTarget) and (target.channel, target.address) == (
                    reply.channel,
                    reply.sender,
                ):
                    return agent
        return None

    def _answer(self, intent: AgentIntent, text: str, writer: str) -> IntentChange:
        if not intent.is_open or writer not in _put_to(intent, self.clock.now_us()):
            return unchanged(intent)
        moment = MoveContext(self.clock.now_us(), writer, self.mint)
        return answered(intent, answer_payload(text, moment), moment)


def _put_to(intent: AgentIntent, now_us: int) -> frozenset[str]:
    """With the person whose message has just left: a quick answer must not be lost because that is not noted yet."""
    leaving = intent.plan[intent.position : intent.position + 1]
    asking = (step for step in leaving if step.kind in (StepKind.ASK, StepKind.ESCALATE) and step.at_us <= now_us)
    return intent.asked | {step.to_agent for step in asking}
