"""How many sessions a person's messages have begun within a day, beside the most there may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from postroom.domain.time import seconds
from postroom.work.conversations.talk import DAY_SECONDS


class CountedSessions(Protocol):
    async def sessions_since(self, person: str, since_us: int) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsToday:
    counted: CountedSessions
    per_day: int

    async def of(self, person_id: str, now_us: int) -> int:
        return await self.counted.sessions_since(person_id, now_us - seconds(DAY_SECONDS))
