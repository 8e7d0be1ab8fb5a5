"""Those who can sign in, and what the settings let them do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import HOUSEHOLD_OWNER as BOOK
from postroom.people.model import PersonRole
from postroom.people.person_rules import new_contact
from postroom.people.store.people import StoredPeople

pytestmark = pytest.mark.requirement("house:approver-role")


@pytest.fixture
def people(database: Database) -> StoredPeople:
    return StoredPeople(database, IdMint().mint, ())


async def role(people: StoredPeople) -> PersonRole | None:
    found = await people.get(BOOK, "ann")
    return found.role if found else None


async def test_one_whom_the_settings_name_as_approver_no_longer_is_one_no_longer(people: StoredPeople) -> None:
    seen = []
    for said in ({"ann": PersonRole.APPROVER}, {"ann": PersonRole.MEMBER}, {"ann": PersonRole.APPROVER}, {}):
        await people.admit(said, now_us=1)
        seen.append(await role(people))

    assert seen == [PersonRole.APPROVER, PersonRole.MEMBER, PersonRole.APPROVER, PersonRole.MEMBER]


async def test_a_role_that_was_given_in_the_database_stays(people: StoredPeople) -> None:
    await people.admit({"ann": PersonRole.MEMBER}, now_us=1)
    await people.change(BOOK, "ann", lambda one: replace(one.as_written, role=PersonRole.APPROVER), now_us=2)

    await people.admit({"ann": PersonRole.MEMBER}, now_us=3)

    assert await role(people) is PersonRole.APPROVER


async def test_one_who_was_removed_and_can_still_sign_in_has_a_record_again(people: StoredPeople) -> None:
    await people.admit({"ann": PersonRole.APPROVER}, now_us=1)
    await people.delete(BOOK, "ann")
    await people.admit({}, now_us=2)
    assert await role(people) is None

    await people.admit({"ann": PersonRole.MEMBER}, now_us=3)

    assert await role(people) is PersonRole.MEMBER


async def test_the_file_of_contacts_leaves_them_alone(people: StoredPeople) -> None:
    await people.admit({"ann": PersonRole.MEMBER}, now_us=1)

    await people.keep_in_step(BOOK, [new_contact(name="ann", email="ann@x.org")], now_us=2)
    await people.keep_in_step(BOOK, [], now_us=3)

    assert [one.id for one in await people.page(BOOK, after=None, limit=9)] == ["ann"]
