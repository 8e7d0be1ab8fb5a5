"""Ends what nobody decided in time, and tells the owner where they are that something waits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from postroom.domain.approval import Action
from postroom.domain.outcome import Outcome
from postroom.domain.outgoing import Outgoing
from postroom.domain.ports import Clock
from postroom.domain.time import seconds, to_text
from postroom.system.signal import Signal
from postroom.work.approvals.policy import ApprovalPolicy
from postroom.work.approvals.record import DecisionRecord
from postroom.work.approvals.visible import reveal

APPROVALS_ORIGIN: Final = "approvals"
_ASK_BATCH: Final = 20

Submit = Callable[[Outgoing], Awaitable[Outcome]]
AskChannel = Callable[[], Awaitable[str | None]]  # where the owner is reached now


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """`ask_channel` None tells nobody. What it sends goes the way of every message, to the owner."""

    record: DecisionRecord
    policy: ApprovalPolicy
    clock: Clock
    submit: Submit
    ask_channel: AskChannel | None = None
    signal: Signal = field(default_factory=Signal)

    async def look(self) -> int:
        """One round; returns when the next one is due, unless the signal rings before."""
        await self.record.expire(self.clock.now_us())
        await self.ask()
        return self.clock.now_us() + seconds(self.policy.sweep_seconds)

    async def ask(self) -> None:
        """Once for each action: its key makes a second telling the first one again."""
        channel = await self.ask_channel() if self.ask_channel else None
        if channel is None:
            return
        for action in await self.record.unasked(_ASK_BATCH):
            if action.origin_butler != APPROVALS_ORIGIN:  # asking about asking would never end
                outcome = await self.submit(approval_request(action, channel))
                if outcome.retryable:
                    return  # the limits or the provider say not now; the next round asks again
            await self.record.asked(action.id, self.clock.now_us())


def approval_request(action: Action, channel: str) -> Outgoing:
    """Who wants what from whom, and not a word of the message: it may not be fit for a lock screen."""
    content = action.content
    text = (
        f"Approval needed: {action.origin_butler} wants to {content.intent} on {content.channel} "
        f"to {reveal(content.address)} ({action.risk} risk).\n"
        f"It expires at {to_text(action.expires_at_us)}.\n"
        f"Action {action.id}"
    )
    return Outgoing(
        origin_butler=APPROVALS_ORIGIN,
        channel=channel,
        message=text,
        subject="Approval needed" if channel == "email" else None,
        idempotency_key=f"approval:{action.id}",
    )
