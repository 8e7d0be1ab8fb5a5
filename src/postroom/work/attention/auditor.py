"""Counts now and then whether every notice is accounted for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from postroom.domain.time import seconds
from postroom.work.attention.attention import Attention
from postroom.work.attention.ports import SendQueue

LOOK_SECONDS: Final = 60.0
COUNT_SECONDS: Final = 3600.0
_MOST_LATE: Final = 1000


class UnaccountedGauge(Protocol):
    def unaccounted(self, count: int) -> None: ...


@dataclass(slots=True, kw_only=True)
class Auditor:
    """
    The laws of what is open, and of L5 also that nothing stays due: a person counts who was overdue at the look before
    as well, so that a machine that slept is not taken for one that forgot. All that is kept is counted once an hour,
    because that costs more the more there is.
    """

    attention: Attention
    queue: SendQueue
    meter: UnaccountedGauge
    _late: frozenset[str] = field(init=False, default=frozenset())
    _lost: Sequence[str] = field(init=False, default=())
    _count_again_us: int = field(init=False, default=0)

    async def look(self) -> int:
        now_us = self.attention.book.clock.now_us()
        self.meter.unaccounted(await self._unaccounted(now_us) if self.attention.book.known else 0)
        return now_us + seconds(LOOK_SECONDS)

    async def _unaccounted(self, now_us: int) -> int:
        before, self._late = self._late, frozenset(await self.queue.due(now_us - seconds(LOOK_SECONDS), _MOST_LATE))
        if now_us >= self._count_again_us:
            self._lost = await self.attention.reading.first_law()
            self._count_again_us = now_us + seconds(COUNT_SECONDS)
        return len(await self.attention.reading.open_laws()) + len(self._lost) + len(before & self._late)
