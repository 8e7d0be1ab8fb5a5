"""Ends what nobody decided in time, and tells the owner where they are that something waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from postroom.approvals.policy import ApprovalPolicy
from postroom.approvals.record import DecisionRecord
from postroom.approvals.visible import reveal
from postroom.domain.approval import Action
from postroom.domain.notify import NOTIFY_V1
from postroom.domain.time import seconds, to_text
from postroom.ports import Clock

APPROVALS_ORIGIN: Final = "approvals"
_ASK_BATCH: Final = 20

Deliver = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """`ask_channel` None tells nobody. What it sends goes the way of every message, to the owner."""

    record: DecisionRecord
    policy: ApprovalPolicy
    clock: Clock
    deliver: Deliver
    ask_channel: str | None = None
    bell: asyncio.Event = field(default_factory=asyncio.Event)

    async def look(self) -> int:
        """One round; returns when the next one is due, unless the bell rings before."""
        await self.record.expire(self.clock.now_us())
        await self.ask()
        return self.clock.now_us() + seconds(self.policy.sweep_seconds)

    async def ask(self) -> None:
        """Once for each action: its key makes a second telling the first one again."""
        if self.ask_channel is None:
            return
        for action in await self.record.unasked(_ASK_BATCH):
            if action.origin_butler != APPROVALS_ORIGIN:  # asking about asking would never end
                answer = await self.deliver(approval_request(action, self.ask_channel))
                if answer.get("status") == "error" and answer.get("retryable"):
                    return  # the limits or the provider say not now; the next round asks again
            await self.record.asked(action.id, self.clock.now_us())


def approval_request(action: Action, channel: str) -> dict[str, Any]:
    """Who wants what from whom, and not a word of the message: it may not be fit for a lock screen."""
    content = action.content
    text = (
        f"Approval needed: {action.origin_butler} wants to {content.intent} on {content.channel} "
        f"to {reveal(content.address)} ({action.risk} risk).\n"
        f"It expires at {to_text(action.expires_at_us)}.\n"
        f"Action {action.id}"
    )
    delivery = {"intent": "send", "channel": channel, "message": text}
    if channel == "email":
        delivery["subject"] = "Approval needed"
    return {
        "schema_version": NOTIFY_V1,
        "origin_butler": APPROVALS_ORIGIN,
        "delivery": delivery,
        "idempotency_key": f"approval:{action.id}",
    }
