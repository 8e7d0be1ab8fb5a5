"""A person who is removed is forgotten wherever something they said is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import select
from tests.cli.command import postroom_beside
from tests.clock import START_US
from tests.questions.sample_questions import new_attempt, new_question

from postroom.conversations.model import InboundMove, RoutedMessage, RouteKind
from postroom.conversations.store import StoredInbound, inbound_messages
from postroom.household.people import opened_people
from postroom.household.store import Store, open_store
from postroom.kernel.database.engine import Database
from postroom.kernel.running.process import Seal
from postroom.kernel.values.ids import IdMint, seconds
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.message.inbound import InboundMessage
from postroom.people.model import NewPerson
from postroom.questions.model import AskedPerson, Said
from postroom.questions.rules.judge import judge
from postroom.questions.store.questions import StoredQuestions
from postroom.questions.store.tables import questions
from postroom.settings import Settings

ADDED_US = START_US + seconds(1)


@pytest.fixture
def settings(home: Path) -> Settings:
    return Settings(home=home)


async def known(store: Store, name: str) -> str:
    """Of somebody who answered a question and wrote to a butler."""
    person = await store.people.create(HOUSEHOLD_OWNER, NewPerson(name=name), source="api", now_us=ADDED_US)
    asked = StoredQuestions(store.database, Seal(bytes(32)))
    told = AskedPerson(id=person.id, name=name)
    question = (await asked.ask(new_question(question=f"Secret of {name}?", people=(told,)))).question
    attempt = new_attempt(question, Said(text="ship"), person_id=person.id)
    await asked.hear(attempt, lambda one, tried, shown: judge(one, tried, tried.heard_at_us, shown))
    inbound = StoredInbound(store.database, IdMint().mint)
    written = InboundMessage(
        channel="telegram", number=3, message_id=name, places=("77",), sender="77", text=f"secret of {name}"
    )
    to_butler = RoutedMessage(kind=RouteKind.BUTLER, target="general", reason="named", words=written.text or "")
    await inbound.keep(written, START_US)
    assert await inbound.decide(written, to_butler, person.id, START_US)
    await inbound.move(await inbound.named(written), InboundMove.STOP, START_US)
    return person.id


async def words(database: Database) -> str:
    kept = (select(questions), select(inbound_messages))
    return await database.read(lambda connection: str([tuple(row) for one in kept for row in connection.execute(one)]))


async def by_its_store(settings: Settings, person_id: str) -> None:
    async with open_store(settings) as store:
        assert await store.people.delete(HOUSEHOLD_OWNER, person_id, now_us=ADDED_US)


async def by_the_household(settings: Settings, person_id: str) -> None:
    async with opened_people(settings) as people:
        await people.delete(person_id)


async def by_a_command(settings: Settings, person_id: str) -> None:
    done = await postroom_beside("people", "remove", person_id, "--yes", "--home", str(settings.home))
    assert done.code == 0


async def test_every_way_to_remove_a_person_erases_what_they_were_asked_and_wrote(settings: Settings) -> None:
    for way in (by_its_store, by_the_household, by_a_command):
        async with open_store(settings) as store:
            gone, stays = await known(store, f"Gone {way.__name__}"), await known(store, f"Stays {way.__name__}")
        assert gone != stays

        await way(settings, gone)

        async with open_store(settings) as store:
            left = await words(store.database)
        assert f"ecret of Gone {way.__name__}" not in left
        assert left.count(f"ecret of Stays {way.__name__}") >= 2
