"""Deliveries that another process has settled: wake who waits for them here, and give their places in flight back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from postroom.domain.ids import DeliveryId
from postroom.domain.seams import Limits
from postroom.work.delivery.dispatcher import Dispatcher
from postroom.work.delivery.outcomes import Outcomes

Over = Callable[[], Awaitable[list[DeliveryId]]]  # deliveries that hold a place in flight here and have ended


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledElsewhere:
    dispatcher: Dispatcher
    outcomes: Outcomes
    limits: Limits
    over: Over | None  # None where all processes share their places: the one who settled has released it

    async def heard(self, ids: list[DeliveryId] | None) -> None:
        """None: notices may have been missed, so everything of ours is looked at."""
        await self.outcomes.refresh(ids if ids is None else self._of_others(ids))
        if self.over is not None:
            for one in ids if ids is not None else await self.over():
                await self.limits.release(one)

    def _of_others(self, ids: list[DeliveryId]) -> list[DeliveryId]:
        """We hear of our own before any notice."""
        return [one for one in ids if not self.dispatcher.has_in_hand(one)]
