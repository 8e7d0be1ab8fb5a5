"""The people of the household, as the pages of attention list them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from postroom.app.store import OpenedStore
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.person import Person
from postroom.domain.person_id_of import person_id_of
from postroom.domain.principal import OWNER
from postroom.doors.guard.tokens import TokenFile
from postroom.work.attention.attention import Attention


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdFolk:
    store: OpenedStore
    tokens: TokenFile
    notices: Attention

    async def get(self, person_id: str) -> Person | None:
        return await self.store.people.get(HOUSEHOLD_OWNER, person_id)

    async def household(self) -> Sequence[Person]:
        """The owner, those who can sign in, those who approve, and those of whom attention keeps something."""
        await self.notices.book.refresh()
        signing_in = {person_id_of(one) for one in self.tokens.principals()} - {None}
        ids = {OWNER, *self.store.household.approvers, *self.notices.book.known, *(one for one in signing_in if one)}
        return list((await self.store.people.people(HOUSEHOLD_OWNER, sorted(ids))).values())
