"""Who may decide: those the settings name, and those who have the role, as soon as they have it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.household.living import LIFTED, QUICK, living
from tests.clock import FakeClock
from tests.opened_database import opened_file
from tests.system.counted import CountedLoops
from tests.work.people.known_people import household_people, owner

from postroom.butlers.messenger.server import rules
from postroom.household.wiring.store import Approvers, watched
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, Principal, Role
from postroom.people.model import NewPerson, PersonRole


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


def _set_clock(monkeypatch: pytest.MonkeyPatch, off_seconds: float) -> SystemClock:
    """The machine's is off; what is answered is right."""
    right = SystemClock.now_us
    true = type("True time", (SystemClock,), {"now_us": right})()
    monkeypatch.setattr(SystemClock, "now_us", lambda clock: right(clock) + seconds(off_seconds))
    return true


@pytest.mark.parametrize("off_seconds", [30.0, -30.0], ids=["ahead", "behind"])
async def test_a_machine_whose_clock_is_off_reads_leases_by_that_of_the_database(
    home: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch, off_seconds: float
) -> None:
    true = _set_clock(monkeypatch, off_seconds)

    async with living(home, LIFTED, QUICK, {"database_url": postgres_url}) as alive:
        assert abs(alive.household.loops.clock.now_us() - true.now_us()) < seconds(5)


async def test_a_machine_with_a_database_of_its_own_has_its_own_clock(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = _set_clock(monkeypatch, 30.0)

    async with living(home, LIFTED, QUICK) as alive:
        assert alive.household.loops.clock.now_us() - true.now_us() > seconds(25)
