"""The people of the household, as those who can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from postroom.domain.address_order import has_proved
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.errors import InternalError
from postroom.domain.person import Person
from postroom.domain.principal import OWNER
from postroom.world.store.people.people import StoredPeople

_AT_A_TIME: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdAsked:
    """Only who has proved an address is found by it: from there answers come that decide."""

    book: StoredPeople

    async def find(self, who: str) -> Sequence[Person]:
        return await self.book.find(HOUSEHOLD_OWNER, who)

    async def at(self, channel: str, address: str) -> Person | None:
        found = await self.book.at(HOUSEHOLD_OWNER, channel, address)
        return next((person for person in found if has_proved(person, channel, address)), None)

    async def owner(self) -> Person:
        found = await self.book.find(HOUSEHOLD_OWNER, OWNER)
        if not found:
            raise InternalError("the household has no owner")
        return found[0]

    async def names(self) -> Sequence[str]:
        page = await self.book.page(HOUSEHOLD_OWNER, after=None, limit=_AT_A_TIME)
        return [name for person in page for name in (person.name, *person.aliases)]
