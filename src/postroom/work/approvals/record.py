"""What approvals need from the store, by shape alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from postroom.domain.approval import (
    Action,
    ActionStatus,
    ApprovalEvent,
    Parking,
    Ruling,
    StandingRule,
)
from postroom.domain.approval_question import DecisionTried
from postroom.domain.ids import DeliveryId
from postroom.domain.ledger import Inserted, NewDelivery

Choose = Callable[[Sequence[StandingRule]], Sequence[StandingRule]]
Judge = Callable[[Action], Ruling]


class ParkingRecord(Protocol):
    async def park(self, new: NewDelivery, parking: Parking, choose: Choose) -> Inserted:
        """
        One transaction: the delivery with its action, or released by the first chosen
        rule that still has a use left. A key that is taken changes nothing.
        """
        ...

    async def is_edited(self, request_id: str) -> bool:
        """Whether a person changed the words of something that was sent for this request before they agreed to it."""
        ...


class DecisionRecord(Protocol):
    async def decide(
        self, action_id: DeliveryId, judge: Judge, tried: DecisionTried | None = None
    ) -> tuple[Action, Ruling] | None:
        """
        Judges the row under a lock and writes the ruling; None when there is no such action.

        What was tried is kept with the question about it, whatever came of it.
        """
        ...

    async def expire(self, now_us: int) -> int:
        """Ends what nobody decided in time; how many there were."""
        ...

    async def unasked(self, limit: int) -> Sequence[Action]:
        """Pending actions whose person has not been told yet, the oldest first."""
        ...

    async def asked(self, action_id: DeliveryId, now_us: int) -> None: ...


class ActionReader(Protocol):
    async def action(self, action_id: DeliveryId) -> Action | None: ...

    async def page(self, status: ActionStatus | None, before: str | None, limit: int) -> Sequence[Action]:
        """Newest first; `before` is the id the page before ended with."""
        ...

    async def events(self, action_id: DeliveryId) -> Sequence[ApprovalEvent]: ...


class RuleRecord(Protocol):
    async def add_rule(self, rule: StandingRule) -> None: ...

    async def revoke_rule(self, rule_id: str, actor: str, now_us: int) -> StandingRule | None:
        """The rule as it is now; None when there is no such rule."""
        ...

    async def rules(self) -> Sequence[StandingRule]: ...
