"""How much attention keeps back, for the pages that only point to it."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.domain.notice_states import CELLS
from postroom.domain.person_id_of import person_id_of
from postroom.domain.principal import Principal
from postroom.work.attention.attention import Attention
from postroom.work.attention.views import AttentionFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldNotices:
    attention: Attention

    async def held(self, who: Principal) -> int:
        """Of this person's own; counted without asking whether every law is kept."""
        person = person_id_of(who)
        if person is None:
            return 0
        return await self.attention.book.store.in_states(person, [str(one) for one in CELLS["held"]])

    async def household(self) -> AttentionFigures:
        return await self.attention.figures()
