"""Ends what no one decided in time, and asks the people who may decide about what is new."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from postroom.domain.approval import Action
from postroom.domain.clock import Clock
from postroom.domain.ids import DeliveryId
from postroom.domain.inbox_agent import ASKER
from postroom.domain.question import AskedPerson, Question
from postroom.domain.time import seconds
from postroom.system.signal import Signal
from postroom.work.approvals.card import approval_question
from postroom.work.approvals.policy import ApprovalPolicy
from postroom.work.approvals.record import DecisionRecord

_ASK_BATCH: Final = 20


class AskingRecord(DecisionRecord, Protocol):
    async def ask(self, question: Question, action_id: DeliveryId, now_us: int) -> bool:
        """The question about a pending action, opened once; False when there is nothing to ask any more."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciders:
    """Who may decide, the owner first, and on which channels they are shown the card; none are theirs alone."""

    people: tuple[AskedPerson, ...]
    channels: tuple[str, ...]


class WhoDecides(Protocol):
    async def __call__(self, *, owner_only: bool) -> Deciders | None:
        """None while the household has no owner."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """`deciders` None asks no one: what waits is seen in the console and listed by the tools."""

    record: AskingRecord
    policy: ApprovalPolicy
    clock: Clock
    mint: Callable[[int], str]
    asked: Callable[[], None]  # wakes whoever shows the cards
    deciders: WhoDecides | None = None
    signal: Signal = field(default_factory=Signal)

    async def look(self) -> int:
        """One round; returns when the next one is due, unless the signal rings before."""
        await self.record.expire(self.clock.now_us())
        await self.ask()
        return self.clock.now_us() + seconds(self.policy.sweep_seconds)

    async def ask(self) -> None:
        """Once for each action; what a process that died has left is taken up by the next one."""
        if self.deciders is None:
            return
        while waiting := await self.record.unasked(_ASK_BATCH):
            for action in waiting:
                await self._ask(action, self.deciders)
            self.asked()
            if len(waiting) < _ASK_BATCH:
                return

    async def _ask(self, action: Action, deciders: WhoDecides) -> None:
        """A card that waits for an approval itself is shown to the owner alone, who needs none."""
        now_us = self.clock.now_us()
        found = await deciders(owner_only=action.origin_butler == ASKER)
        if found is None or action.expires_at_us <= now_us:
            await self.record.asked(action.id, now_us)
            return
        question = approval_question(
            action,
            id=self.mint(now_us),
            people=found.people,
            channels=found.channels,
            now_us=now_us,
            phone=self.policy.phone,
        )
        await self.record.ask(question, action.id, now_us)
