"""The people a household knows, as its parts ask for them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager

from postroom.domain.ids import IdMint
from postroom.system.loop import Loops
from postroom.work.people.household_people import HouseholdPeople
from postroom.work.people.normalise import keys_of
from postroom.world.store.engine.database import Database
from postroom.world.store.people.people import StoredPeople


def stored_people(database: Database, mint: IdMint) -> StoredPeople:
    return StoredPeople(database, mint.mint, keys_of)


class Approvers(Collection[str]):
    """Those the settings name, and those who have the role."""

    def __init__(self, named: Collection[str], people: HouseholdPeople) -> None:
        self._named = frozenset(named)
        self._people = people

    def __contains__(self, person_id: object) -> bool:
        return person_id in self._named or person_id in self._people.approvers

    def __iter__(self) -> Iterator[str]:
        return iter(self._named | self._people.approvers)

    def __len__(self) -> int:
        return len(self._named | self._people.approvers)


@asynccontextmanager
async def watched(people: StoredPeople, household: HouseholdPeople, loops: Loops) -> AsyncIterator[None]:
    await household.known()
    people.tell(household.known)
    async with loops.running("people", household.look):
        yield
