"""Counts now and then whether every notice is accounted for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from postroom.domain.time import seconds
from postroom.work.attention.attention import Attention

LOOK_SECONDS: Final = 60.0


class UnaccountedGauge(Protocol):
    def unaccounted(self, count: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Auditor:
    attention: Attention
    meter: UnaccountedGauge

    async def look(self) -> int:
        known = self.attention.book.known
        broken = (await self.attention.figures()).unaccounted if known else ()
        self.meter.unaccounted(len(broken))
        return self.attention.book.clock.now_us() + seconds(LOOK_SECONDS)
