"""With whom something was said lately, on either database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.opened_database import KINDS, opened_database
from tests.world.store.conversations.test_history import Said

from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.ids import IdMint
from postroom.domain.person import NewPerson, PersonAddress
from postroom.work.people.normalise import keys_of
from postroom.world.store.conversations.lately import StoredLately
from postroom.world.store.conversations.pulse import TalkPulse
from postroom.world.store.engine.database import Database
from postroom.world.store.people.people import StoredPeople


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as one:
        yield one


@pytest.mark.requirement("talk:console")
async def test_the_last_of_each_person_is_found_newest_first(database: Database, people: StoredPeople) -> None:
    said, lately = Said(database), StoredLately(database, HOUSEHOLD_OWNER)
    place = PersonAddress(channel="email", address="Bob@example.org")
    bob = await people.create(HOUSEHOLD_OWNER, NewPerson(name="Bob", addresses=(place,)), source="api", now_us=1)
    await said.written()
    mail = await said.sent("email", "bob@example.org")
    await said.sent("telegram", "bob@example.org")  # not his
    last = await said.written()
    asked = await said.asked("cleo")

    found = await lately.last(10)

    assert [(person, one.id) for person, one in found.items()] == [("cleo", asked), ("ada", last.id), (bob.id, mail)]
    assert list(await lately.last(1)) == ["cleo"]


async def test_where_nothing_was_said_there_is_no_one(database: Database) -> None:
    assert await StoredLately(database, HOUSEHOLD_OWNER).last(10) == {}
    assert await TalkPulse(database).pulse() == (0, 0, 0)


async def test_the_pulse_differs_after_every_message(database: Database) -> None:
    said, pulse = Said(database), TalkPulse(database)
    seen = [await pulse.pulse()]
    for _ in range(3):
        await said.written()
        seen.append(await pulse.pulse())

    assert len(set(seen)) == 4 and seen[-1][0] > seen[1][0]


@pytest.fixture
def people(database: Database) -> StoredPeople:
    return StoredPeople(database, IdMint().mint, keys_of)
