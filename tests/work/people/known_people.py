"""A household's people on disk, seeded as a settings file would, for tests that ask who is who."""

from __future__ import annotations

from tests.clock import FakeClock

from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.ids import IdMint
from postroom.domain.person import NewPerson, PersonRole
from postroom.work.people.contact_addresses import vouched
from postroom.work.people.household_people import HouseholdPeople
from postroom.work.people.normalise import keys_of
from postroom.world.store.engine.database import Database
from postroom.world.store.people.people import StoredPeople


def owner(name: str = "", telegram: str | None = None, email: str | None = None) -> NewPerson:
    return NewPerson(name=name, role=PersonRole.OWNER, addresses=vouched(telegram, email, 1))


async def household_people(
    database: Database, *said: NewPerson, clock: FakeClock | None = None
) -> tuple[StoredPeople, HouseholdPeople]:
    stored = StoredPeople(database, IdMint().mint, keys_of)
    await stored.keep_in_step(HOUSEHOLD_OWNER, said, now_us=1)
    return stored, HouseholdPeople(stored, clock or FakeClock())
