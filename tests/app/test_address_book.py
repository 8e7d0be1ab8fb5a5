"""Who may decide: those the settings name, and those who have the role, as soon as they have it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from postroom.app.address_book import Approvers, watched
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.person import NewPerson, PersonRole
from postroom.domain.principal import Principal, Role
from postroom.doors.messenger.policy import rules
from tests.clock import FakeClock
from tests.opened_database import opened_file
from tests.system.counted import CountedLoops
from tests.work.people.known_people import household_people, owner


@pytest.mark.requirement("house:approver-role")
async def test_a_person_decides_from_the_moment_the_role_is_given_until_it_is_taken(
    tmp_path: Path, clock: FakeClock
) -> None:
    async with opened_file(tmp_path) as database:
        stored, people = await household_people(database, owner("Olivia"), clock=clock)
        ann = await stored.create(HOUSEHOLD_OWNER, NewPerson(name="Ann"), source="api", now_us=1)
        person, program = Principal(Role.PERSON, ann.id), Principal(Role.PROGRAM, ann.id, person=ann.id)
        async with watched(stored, people, CountedLoops(clock)):
            may_decide = rules(Approvers(["ben"], people))["approve_action"]
            allowed = [may_decide(person)]
            for role in (PersonRole.APPROVER, PersonRole.MEMBER):
                await stored.change(
                    HOUSEHOLD_OWNER, ann.id, lambda one, new=role: replace(one.as_written, role=new), now_us=2
                )
                allowed.append(may_decide(person))

            assert allowed == [False, True, False]
            assert not may_decide(program)
            assert may_decide(Principal(Role.USER, "ben"))
            assert list(Approvers(["ben"], people)) == ["ben"]
            assert len(Approvers(["ben"], people)) == 1
