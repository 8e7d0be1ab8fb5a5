"""`/here` puts the place it was sent from first, for the person who has proved it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.opened_database import KINDS, opened_database
from tests.work.people.heard import SaidBack, written

from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.assurance import Flag
from postroom.domain.ids import IdMint
from postroom.domain.person import NewPerson, Person, PersonAddress
from postroom.work.people.here import FIRST_HERE, FirstHere
from postroom.work.people.normalise import keys_of
from postroom.world.store.people.people import StoredPeople

ANNA = NewPerson(
    name="Anna",
    addresses=(
        PersonAddress(channel="email", address="anna@x.org", rank=1, verified_at_us=1),
        PersonAddress(channel="slack", address="U1", rank=2, verified_at_us=1),
        PersonAddress(channel="telegram", address="2000", rank=3, verified_at_us=1),
        PersonAddress(channel="telegram", address="3000", rank=4),
    ),
)


@dataclass(frozen=True, slots=True)
class Desk:
    people: StoredPeople
    here: FirstHere
    said: SaidBack
    anna: Person

    async def order(self) -> list[str]:
        found = await self.people.get(HOUSEHOLD_OWNER, self.anna.id)
        assert found is not None
        assert [one.rank for one in found.addresses] == list(range(1, 5))
        return [one.address for one in found.addresses]


@pytest.fixture(params=KINDS)
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    async with opened_database(request.param, tmp_path, request) as database:
        people, said = StoredPeople(database, IdMint().mint, keys_of), SaidBack()
        anna = await people.create(HOUSEHOLD_OWNER, ANNA, source="api", now_us=1)
        yield Desk(people, FirstHere(people=people, outbound=said, clock=FakeClock()), said, anna)


@pytest.mark.requirement("chan:here")
async def test_the_place_comes_first_until_another_one_does(desk: Desk) -> None:
    assert await desk.here.words(written("/here"))
    assert await desk.order() == ["2000", "anna@x.org", "U1", "3000"]
    assert desk.said.words == [FIRST_HERE]

    there = {"channel": "slack", "places": ("D1", "U1"), "sender": "U1"}
    assert await desk.here.words(written("Write to me here instead.", **there))
    assert await desk.order() == ["U1", "2000", "anna@x.org", "3000"]


@pytest.mark.parametrize("text", ["/HERE", "/here@our_bot", " write to me here ", "Please write to me here!"])
async def test_it_can_be_said_in_several_ways(desk: Desk, text: str) -> None:
    assert await desk.here.words(written(text))


@pytest.mark.requirement("chan:here")
@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("/here", {"sender": "3000"}),
        ("/here", {"sender": "6666"}),
        ("/here", {"sender": None}),
        ("/here", {"alone": False}),
        ("/here", {"flags": frozenset({Flag.FORWARDED})}),
        ("write to me here", {"replies_to": "5"}),
        ("/hereafter", {}),
        ("do not write to me here", {}),
        (None, {}),
    ],
    ids=["unverified", "stranger", "bot", "group", "forwarded", "an answer", "other", "opposite", "nothing"],
)
async def test_all_others_change_nothing_and_hear_nothing(desk: Desk, text: str | None, more: dict[str, Any]) -> None:
    assert not await desk.here.words(written(text, **more))
    assert (desk.said.messages, (await desk.order())[0]) == ([], "anna@x.org")
