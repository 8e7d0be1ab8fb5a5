"""The moments of the newest changes, by topic: what an open page is refreshed by."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from postroom.work.inbox.ports import Notes

_OVERLAP_US: Final = 10_000_000


class LedgerPulse(Protocol):
    async def pulse(self) -> dict[str, tuple[Any, ...]]: ...


class OnePulse(Protocol):
    async def pulse(self) -> tuple[Any, ...]: ...


@dataclass(frozen=True, slots=True)
class HouseholdPulse:
    record: LedgerPulse
    notes: Notes
    questions: OnePulse
    talk: OnePulse

    async def look(self, user_ids: Collection[str], now_us: int) -> Mapping[str, tuple[Any, ...]]:
        """By topic (`deliveries`, `approvals`, `inbox:<user>`): the moment of the newest change, then whatever else
        differs when more has happened; or nothing at all when it has been quiet lately."""
        inboxes = await self.notes.pulses(user_ids, now_us - _OVERLAP_US, now_us)
        quiet: dict[str, tuple[Any, ...]] = {f"inbox:{user_id}": () for user_id in user_ids}
        quiet |= {"questions": await self.questions.pulse(), "conversations": await self.talk.pulse()}
        return await self.record.pulse() | quiet | {f"inbox:{name}": pulse for name, pulse in inboxes.items()}
