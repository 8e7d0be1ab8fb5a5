"""An assistant that is not sure whom a name means: the owner is asked once, and their word is remembered once."""

from __future__ import annotations

import secrets
import string
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.opened_database import KINDS
from tests.work.questions.asking_office import MINT, Office, opened_office

from postroom.domain.agent_address import HOUSEHOLD_OWNER, user_address
from postroom.domain.answer_attempt import VerdictKind
from postroom.domain.contact import DecisionMode, Resolution
from postroom.domain.errors import Refused
from postroom.domain.person import Person
from postroom.domain.principal import OPERATOR, OWNER, Principal, Role
from postroom.domain.question import Question
from postroom.domain.question_states import QuestionStatus
from postroom.domain.time import seconds
from postroom.work.intents.contact_answers import ContactAnswers
from postroom.work.intents.contact_questions import DAY_SECONDS, MOST_OPEN, ContactQuestions, subject_of
from postroom.work.people.confirm import Confirmation, Confirmer
from postroom.work.people.new_contact import new_contact
from postroom.work.people.normalise import keys_of
from postroom.work.people.resolve import Resolver
from postroom.work.questions.follower import Follower
from postroom.work.questions.given import Given
from postroom.world.store.intents.intents import StoredIntents
from postroom.world.store.people.contacts_memory import StoredMemory
from postroom.world.store.people.people import StoredPeople

CHATGPT, GEMINI = Principal(Role.CONNECTOR, "chatgpt"), Principal(Role.CONNECTOR, "gemini")
OLGA = Principal(Role.PERSON, OWNER)
pytestmark = pytest.mark.requirement("ask:contact-questions")


@dataclass(frozen=True, slots=True)
class BookDesk:
    office: Office
    people: StoredPeople
    memory: StoredMemory
    resolver: Resolver
    confirmer: Confirmer
    follower: Follower

    async def add(self, name: str, telegram: str, owner: str = HOUSEHOLD_OWNER) -> Person:
        new = new_contact(name=name, aliases=(), telegram_chat_id=telegram, email=None)
        return await self.people.create(owner, new, source="api", now_us=self.office.clock.now_us())

    async def look_up(self, name: str, by: Principal = CHATGPT, owner: str = HOUSEHOLD_OWNER) -> Resolution:
        return await self.resolver.resolve(owner, name, by=by)

    async def asked(self, name: str = "Anna") -> list[Question]:
        return list(await self.office.store.about(subject_of(HOUSEHOLD_OWNER, keys_of(name).normal)))

    async def answer(self, question: Question, given: Given, who: Principal = OLGA) -> VerdictKind:
        heard = await self.office.asking.answer(who, question.id, given, channel="console", event_id=MINT.mint(0))
        return heard.verdict.kind

    async def remembered(self) -> list[tuple[str, str, int]]:
        found = await self.memory.listed(HOUSEHOLD_OWNER, after=None, limit=10)
        return [(one.query, one.agent_address, one.confirm_count) for one in found]


@pytest.fixture(params=KINDS)
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BookDesk]:
    async with opened_office(request.param, tmp_path, request) as office:
        people, memory = StoredPeople(office.database, MINT.mint, keys_of), StoredMemory(office.database, keys_of)
        clock = office.clock
        whom = ContactQuestions(
            asking=office.asking, questions=office.asking.questions, store=office.store, clock=clock
        )
        resolver = Resolver(
            books=people, memories=memory, clock=clock, new_token=lambda: secrets.token_urlsafe(24), asks=whom
        )
        confirmer = Confirmer(resolver=resolver, store=memory, clock=clock, mint=MINT.mint, asks=whom)
        answers = ContactAnswers(questions=office.store, memories=memory, confirmer=confirmer)
        marks = StoredIntents(office.database, MINT.mint)
        follower = Follower(name="contacts", feed=office.store, marks=marks, take=answers.take, clock=clock)
        yield BookDesk(office, people, memory, resolver, confirmer, follower)


async def two_annas(desk: BookDesk) -> tuple[Person, Person]:
    return await desk.add("Anna Berg", "2001"), await desk.add("Anna Kovács", "2002")


async def test_the_owner_is_asked_once_in_the_console_alone(desk: BookDesk) -> None:
    annas = await two_annas(desk)

    for who in (CHATGPT, CHATGPT, GEMINI):
        assert (await desk.look_up("Anna", who)).decision_mode is DecisionMode.NEEDS_DISAMBIGUATION

    [question] = await desk.asked()
    assert (question.asker, question.revision, question.channels) == ("connector:chatgpt", 1, ("console",))
    assert question.expires_at_us - question.created_at_us == seconds(DAY_SECONDS)
    assert [one.id for one in question.people] == [OWNER]
    assert question.wording.question == "Whom does “anna” mean?"
    offered = {option.value: option.label for option in question.wording.options}
    assert offered == {
        annas[0].agent_address: "Anna Berg (Telegram …01)",
        annas[1].agent_address: "Anna Kovács (Telegram …02)",
    }
    assert await desk.office.presentations.of(question.id) == []


async def test_the_answer_is_remembered_once_however_often_it_is_taken(desk: BookDesk) -> None:
    _, chosen = await two_annas(desk)
    await desk.look_up("Anna")
    [question] = await desk.asked()

    assert await desk.answer(question, Given(value=chosen.agent_address)) is VerdictKind.ACCEPTED
    assert await desk.remembered() == []  # and the process dies
    await desk.follower.look()
    await desk.follower.marks.save_offset("contacts", 0)  # as if it had died before it could save its place
    await desk.follower.look()

    assert await desk.remembered() == [("anna", chosen.agent_address, 1)]
    again = await desk.look_up("Anna")
    assert again.chosen is not None and again.chosen.agent_address == chosen.agent_address
    assert len(await desk.asked()) == 1


async def test_a_choice_made_after_the_answer_stands(desk: BookDesk) -> None:
    first, second = await two_annas(desk)
    await desk.look_up("Anna")
    [question] = await desk.asked()
    await desk.answer(question, Given(value=first.agent_address))
    desk.office.clock.jump(1)
    later = Confirmation(owner_agent=HOUSEHOLD_OWNER, query="Anna", agent_address=second.agent_address)
    await desk.confirmer.confirm(later, by_person=True)

    await desk.follower.look()

    assert await desk.remembered() == [("anna", second.agent_address, 1)]


async def test_what_the_assistant_confirms_by_its_token_takes_the_question_back(desk: BookDesk) -> None:
    await two_annas(desk)
    found = await desk.look_up("Anna")
    confirmed = Confirmation(
        owner_agent=HOUSEHOLD_OWNER, query="Anna", resolution_token=found.candidates[1].resolution_token
    )

    await desk.confirmer.confirm(confirmed, by_person=False)

    [question] = await desk.asked()
    assert (question.status, question.reason) == (QuestionStatus.CANCELLED, "it was confirmed meanwhile")


async def test_nobody_of_these_is_not_asked_again_for_a_day(desk: BookDesk) -> None:
    await two_annas(desk)
    await desk.look_up("Anna")
    [question] = await desk.asked()
    assert await desk.answer(question, Given(declined=True)) is VerdictKind.ACCEPTED
    await desk.follower.look()

    await desk.look_up("Anna")
    assert (len(await desk.asked()), await desk.remembered()) == (1, [])
    desk.office.clock.jump(DAY_SECONDS)
    await desk.look_up("Anna")
    assert [str(one.status) for one in await desk.asked()] == ["declined", "open"]


async def test_another_who_fits_is_added_to_the_open_question(desk: BookDesk) -> None:
    await two_annas(desk)
    await desk.look_up("Anna")
    third = await desk.add("Anna Lind", "2003")

    await desk.look_up("Anna")

    [question] = await desk.asked()
    assert (question.revision, len(question.wording.options)) == (2, 3)
    assert await desk.answer(question, Given(value=third.agent_address)) is VerdictKind.ACCEPTED


async def test_the_contact_that_went_is_not_remembered_and_stops_nothing(desk: BookDesk) -> None:
    gone, stays = await two_annas(desk)
    await desk.look_up("Anna")
    await desk.look_up("Ana")
    [first], [second] = await desk.asked("Anna"), await desk.asked("Ana")
    await desk.answer(first, Given(value=gone.agent_address))
    await desk.answer(second, Given(value=stays.agent_address))
    await desk.people.delete(HOUSEHOLD_OWNER, gone.id, now_us=desk.office.clock.now_us())

    await desk.follower.look()

    assert await desk.remembered() == [("ana", stays.agent_address, 1)]


@pytest.mark.parametrize("who", [OPERATOR, OLGA], ids=str)
async def test_a_person_who_looks_up_a_name_is_not_asked(desk: BookDesk, who: Principal) -> None:
    await two_annas(desk)

    assert (await desk.look_up("Anna", who)).resolution_token is not None

    assert await desk.asked() == []


async def test_only_the_owners_book_asks_the_owner(desk: BookDesk) -> None:
    ben = user_address("ben")
    for name, chat in (("Anna Berg", "2001"), ("Anna Kovács", "2002")):
        await desk.add(name, chat, ben)

    assert (await desk.look_up("Anna", owner=ben)).resolution_token is not None

    assert await desk.office.store.about(subject_of(ben, "anna")) == []


async def test_the_assistant_neither_answers_nor_rewords_nor_takes_it_back(desk: BookDesk) -> None:
    first, _ = await two_annas(desk)
    await desk.look_up("Anna")
    [question] = await desk.asked()

    with pytest.raises(Refused):
        await desk.answer(question, Given(value=first.agent_address), CHATGPT)
    with pytest.raises(Refused):
        await desk.office.asking.revise(CHATGPT, question.id, {"options": ["a", "b"]})
    with pytest.raises(Refused):
        await desk.office.asking.cancel(CHATGPT, question.id)
    assert (await desk.asked())[0].is_open


async def test_an_assistant_that_tries_names_does_not_fill_a_persons_day(desk: BookDesk) -> None:
    await desk.add("Anna Berg", "2001")
    for letter in string.ascii_lowercase.replace("g", ""):
        assert (await desk.look_up(f"Anna Ber{letter}")).resolution_token is not None

    assert len(await desk.office.asking.listing(CHATGPT, limit=100)) == MOST_OPEN


async def test_a_key_that_the_assistant_took_before_spoils_no_look_up(desk: BookDesk) -> None:
    await two_annas(desk)
    key = f"{subject_of(HOUSEHOLD_OWNER, 'anna')}:0"
    await desk.office.ask(CHATGPT, idempotency_key=key)

    assert (await desk.look_up("Anna")).decision_mode is DecisionMode.NEEDS_DISAMBIGUATION
    assert await desk.asked() == []


async def test_two_who_look_the_same_are_told_apart_by_address(desk: BookDesk) -> None:
    await desk.add("Anna Berg", "2001")
    await desk.add("Anna Berg", "3001")

    await desk.look_up("Anna Berg")

    [question] = await desk.asked("Anna Berg")
    labels = [option.label for option in question.wording.options]
    assert len(set(labels)) == 2 and all("agent://contact/" in one for one in labels)
