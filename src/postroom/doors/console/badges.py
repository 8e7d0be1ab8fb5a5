"""The figures of the navigation: the same reading that the lists and the API count by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from postroom.domain.errors import StoreUnavailable
from postroom.domain.person_id_of import person_id_of
from postroom.domain.principal import Principal
from postroom.domain.what_waits import WhatWaits
from postroom.work.inbox.owner import inbox_of


class WaitingRecord(Protocol):
    async def counts(self, person_id: str | None, user_id: str | None, now_us: int) -> WhatWaits: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Badges:
    record: WaitingRecord
    approvals_on: bool

    async def of(self, who: Principal, now_us: int) -> Mapping[str, int]:
        """By the path of a section; nothing when the record does not answer, for a page says so itself."""
        try:
            waits = await self.record.counts(person_id_of(who), inbox_of(who), now_us)
        except StoreUnavailable:
            return {}
        approvals = waits.approvals if self.approvals_on else 0
        return {"/questions": waits.questions, "/approvals": approvals, "/inbox": waits.unread}
