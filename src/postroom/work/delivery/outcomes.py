"""Callers who wait for a delivery are woken by its settling; nobody polls."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import suppress
from typing import TypeAlias

from postroom.domain.clock import Clock
from postroom.domain.delivery import TERMINAL
from postroom.domain.errors import StoreUnavailable
from postroom.domain.ids import DeliveryId
from postroom.domain.ledger import Snapshot
from postroom.domain.seams import Ledger
from postroom.domain.time import seconds

_REMEMBERED = 10_000

_Answer: TypeAlias = "asyncio.Future[Snapshot | None]"


class Outcomes:
    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._waiting: dict[DeliveryId, set[_Answer]] = {}
        self._recent: OrderedDict[DeliveryId, Snapshot] = OrderedDict()
        self._stopped = False

    def settled(self, snapshot: Snapshot) -> None:
        if snapshot.status not in TERMINAL:
            return
        self._recent[snapshot.id] = snapshot
        if len(self._recent) > _REMEMBERED:
            self._recent.popitem(last=False)
        for answer in self._waiting.pop(snapshot.id, ()):
            _give(answer, snapshot)

    def let_go(self) -> None:
        """We are stopping: whoever waits is told what is known now; the delivery goes on later."""
        self._stopped = True
        for answer in [one for waiting in self._waiting.values() for one in waiting]:
            _give(answer, None)
        self._waiting.clear()

    def awaited(self, ids: list[DeliveryId]) -> list[DeliveryId]:
        """Those of the given deliveries that somebody here waits for."""
        return [one for one in ids if one in self._waiting]

    async def refresh(self, ids: list[DeliveryId] | None = None) -> None:
        """Look again: another process settled these, or notices were missed for a while."""
        for one in self.awaited(ids) if ids is not None else list(self._waiting):
            if snapshot := await self._ledger.get(one):
                self.settled(snapshot)

    async def wait(
        self, delivery_id: DeliveryId, timeout_seconds: float, *, look_first: bool = False
    ) -> Snapshot | None:
        """
        The outcome, or None when it has not come in time.

        `look_first` is for a delivery that may have been settled, here or elsewhere,
        before we began to listen.
        """
        if (recent := self._recent.get(delivery_id)) or self._stopped:
            return recent
        answer: _Answer = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(delivery_id, set()).add(answer)
        alarm = self._clock.ring(self._clock.now_us() + seconds(timeout_seconds), lambda: _give(answer, None))
        try:
            if look_first:
                with suppress(StoreUnavailable):  # then the settling itself will tell, or the time runs out
                    await self.refresh([delivery_id])
            return await answer
        finally:
            alarm.cancel()
            self._leave(delivery_id, answer)

    def _leave(self, delivery_id: DeliveryId, answer: _Answer) -> None:
        if waiting := self._waiting.get(delivery_id):
            waiting.discard(answer)
            if not waiting:
                del self._waiting[delivery_id]


def _give(answer: _Answer, snapshot: Snapshot | None) -> None:
    if not answer.done():
        answer.set_result(snapshot)
