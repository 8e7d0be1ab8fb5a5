"""A household's people on disk, seeded as a settings file would, for tests that ask who is who."""

from __future__ import annotations

from tests.clock import FakeClock

from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.people.model import NewPerson, PersonRole
from postroom.people.people import HouseholdPeople
from postroom.people.person_rules import vouched
from postroom.people.store.people import StoredPeople


def owner(name: str = "", telegram: str | None = None, email: str | None = None) -> NewPerson:
    return NewPerson(name=name, role=PersonRole.OWNER, addresses=vouched(telegram, email, 1))


async def household_people(
    database: Database, *said: NewPerson, clock: FakeClock | None = None
) -> tuple[StoredPeople, HouseholdPeople]:
    stored = StoredPeople(database, IdMint().mint, ())
    await stored.keep_in_step(HOUSEHOLD_OWNER, said, now_us=1)
    return stored, HouseholdPeople(stored, clock or FakeClock())
