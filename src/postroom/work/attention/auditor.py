"""Counts now and then whether every notice is accounted for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol

from postroom.domain.time import seconds
from postroom.work.attention.attention import Attention
from postroom.work.attention.ports import SendQueue

LOOK_SECONDS: Final = 60.0
_MOST_LATE: Final = 1000


class UnaccountedGauge(Protocol):
    def unaccounted(self, count: int) -> None: ...


@dataclass(slots=True, kw_only=True)
class Auditor:
    """
    The laws of what is open, and of L5 also that nothing stays due: a person counts who was overdue at the look before
    as well, so that a machine that slept is not taken for one that forgot.
    """

    attention: Attention
    queue: SendQueue
    meter: UnaccountedGauge
    _late: frozenset[str] = field(init=False, default=frozenset())

    async def look(self) -> int:
        self.meter.unaccounted(await self._unaccounted() if self.attention.book.known else 0)
        return self.attention.book.clock.now_us() + seconds(LOOK_SECONDS)

    async def _unaccounted(self) -> int:
        since_us = self.attention.book.clock.now_us() - seconds(LOOK_SECONDS)
        before, self._late = self._late, frozenset(await self.queue.due(since_us, _MOST_LATE))
        return len((await self.attention.figures()).unaccounted) + len(before & self._late)
