"""Asking on a real store, with three people of whom only some can be reached."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.opened_database import opened_database
from tests.questions.sample_questions import MINT
from tests.timekeeping import Rounds, rounds

from postroom.attention.attention import QuestionTimes
from postroom.conversations.store import WRITTEN
from postroom.kernel.acts.reading import made
from postroom.kernel.database.engine import Database
from postroom.kernel.running.process import Seal
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OWNER, Principal, Role
from postroom.message.channel import Outbound
from postroom.people.model import Person, PersonAddress, PersonRole
from postroom.people.people import HouseholdPeople
from postroom.people.store.people import StoredPeople
from postroom.questions.acts import AskPeople
from postroom.questions.asked_people import AskedPeople
from postroom.questions.due import QuestionSteps
from postroom.questions.links.links import Links
from postroom.questions.presenter import Planning
from postroom.questions.questions import Asking, Questions
from postroom.questions.rules.cards import CardMaker
from postroom.questions.rules.plan import ChannelAbility
from postroom.questions.shapes import QuestionView
from postroom.questions.store.presentations import StoredPresentations
from postroom.questions.store.questions import StoredQuestions
from postroom.questions.store.steps import MOMENTS
from postroom.questions.telling import Bells

HEALTH = Principal(Role.BUTLER, "health")
OTHER = Principal(Role.BUTLER, "general")
ANNA = Principal(Role.PERSON, "anna")
BEN = Principal(Role.PERSON, "ben")
CHANNELS = {
    "telegram": ChannelAbility(buttons=True, edits=True, inbound=True, threads=True),
    "email": ChannelAbility(),
    "slack": ChannelAbility(configured=False),
}

CARDS = CardMaker(channels=CHANNELS, key=b"k")


def person(id: str, name: str, *addresses: tuple[str, str], verified: bool = True) -> Person:
    places = [
        PersonAddress(channel=channel, address=address, rank=rank, verified_at_us=0 if verified else None)
        for rank, (channel, address) in enumerate(addresses, 1)
    ]
    return Person(
        id=id,
        owner_agent=HOUSEHOLD_OWNER,
        name=name,
        agent_address=f"agent://contact/{id}",
        role=PersonRole.OWNER if id == OWNER else PersonRole.MEMBER,
        trusted=True,
        addresses=tuple(places),
        source="test",
        created_at_us=0,
        updated_at_us=0,
    )


PEOPLE = (
    person(OWNER, "Olga", ("telegram", "1000"), ("email", "olga@example.org")),
    person("anna", "Anna", ("telegram", "2000")),
    person("ben", "Ben"),
    person("b2", "Berta", ("slack", "U1")),
    person("a3", "Alex", ("email", "alex@example.org"), verified=False),
    person("a4", "Alex", ("telegram", "4000")),
)


async def move_in(database: Database, people: Sequence[Person] = PEOPLE) -> None:
    book = StoredPeople(database, MINT.mint, erasers=())
    for one in people:
        await book.write(lambda writer, one=one: writer.insert(one.id, one.as_written, "test"), 0)


@dataclass(frozen=True, slots=True)
class Office:
    database: Database
    asking: Asking
    links: Links
    store: StoredQuestions
    presentations: StoredPresentations
    clock: FakeClock
    bells: Bells

    async def ask(self, asker: Principal = HEALTH, *, wait_seconds: float = 0, **arguments: Any) -> QuestionView:
        one = made(AskPeople, **{"question": "Ship it?", "options": ["yes", "no"], **arguments})
        return await self.asking.ask(asker, one.request(), wait_seconds=wait_seconds)


def office_on(database: Database, clock: FakeClock) -> Office:
    """As another process on the same database would build it."""
    book = StoredPeople(database, MINT.mint, erasers=())
    people = AskedPeople(book=book, household=HouseholdPeople(book, clock))
    store, bells = StoredQuestions(database, Seal(b"k" * 32)), Bells()
    presentations = StoredPresentations(database, MINT.mint, WRITTEN)
    questions = Questions(store, clock, changed=bells.ring)
    planning = Planning(plans=presentations, people=people, channels=CHANNELS, clock=clock)
    asking = Asking(questions=questions, store=store, planning=planning, bells=bells, clock=clock, mint=MINT.mint)
    links = Links(questions=questions, store=store, cards=presentations, people=people, clock=clock, mint=MINT.mint)
    return Office(database, asking, links, store, presentations, clock, bells)


def keeper(office: Office, post: Outbound, times: QuestionTimes | None = None) -> Rounds:
    """Of a process that begins."""
    steps = QuestionSteps(
        times=times,
        questions=office.asking.questions,
        store=office.store,
        shown=office.presentations,
        cards=CARDS,
        outbound=post,
    )
    return rounds(office.database, office.clock, MOMENTS, steps.take, office.store.shown_on)


@asynccontextmanager
async def opened_office(kind: str, folder: Path, request: pytest.FixtureRequest) -> AsyncIterator[Office]:
    async with opened_database(kind, folder, request) as database:
        await move_in(database)
        yield office_on(database, FakeClock())
