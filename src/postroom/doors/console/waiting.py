"""What waits for the person who looks: decisions, and notes not yet read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from postroom.domain.principal import Principal
from postroom.work.inbox.owner import inbox_of
from postroom.work.inbox.ports import Notes


class AwaitingApproval(Protocol):
    async def awaiting_approval(self, now_us: int) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingWork:
    record: AwaitingApproval
    notes: Notes
    approvals_on: bool

    async def approvals(self, now_us: int) -> int | None:
        return await self.record.awaiting_approval(now_us) if self.approvals_on else None

    async def unread(self, who: Principal, now_us: int) -> int:
        user_id = inbox_of(who)
        return 0 if user_id is None else await self.notes.unread(user_id, now_us)
