"""A line for everything that was said with a person; words that are gone say so, and secrets are in none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert
from tests.conversations.room import sent, session
from tests.opened_database import opened_file
from tests.questions.sample_questions import new_question
from tests.support.delivery_rows import NOON_US, request_row
from tests.support.query_plans import query_plans

from postroom.conversations import history
from postroom.conversations.history import Histories, Lately, StoredTalk, line_of
from postroom.conversations.model import (
    HistoryEntry,
    HistoryQuery,
    InboundMove,
    KeptMessage,
    RoutedMessage,
    RouteKind,
    WordsKept,
    merged,
)
from postroom.conversations.store import WRITTEN, StoredInbound, TalkPulse
from postroom.delivery.store.tables import delivery_requests
from postroom.kernel.database.engine import Database
from postroom.kernel.running.process import Seal
from postroom.kernel.values.ids import DeliveryId, IdMint
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.message.inbound import Assurance, InboundMessage
from postroom.people.model import NewPerson, Person, PersonAddress, PersonRole
from postroom.people.store.people import StoredPeople
from postroom.questions.model import (
    AnsweredBy,
    AskedPerson,
    PlannedPresentation,
    Question,
    QuestionAnswer,
    QuestionStatus,
)
from postroom.questions.store.presentations import StoredPresentations
from postroom.questions.store.questions import StoredQuestions


def answered(question: Question, **answer: str) -> Question:
    by = AnsweredBy(person_id="anna", name="Anna", channel="telegram", assurance=Assurance.SIGNED_IN)
    return replace(question, status=QuestionStatus.ANSWERED, answer=QuestionAnswer(**answer), answered_by=by)


@pytest.mark.requirement("talk:history")
def test_a_question_whose_words_are_gone_says_so() -> None:
    question = new_question()
    erased = replace(question, wording=replace(question.wording, question=""))

    assert line_of(HistoryEntry(id="q1", what=erased)).words_kept is WordsKept.ERASED


def test_a_secret_answer_is_in_no_line() -> None:
    secret = answered(new_question(kind="text", secret=True, options=None), text="hunter2")

    assert line_of(HistoryEntry(id="q1", what=secret)).answer == ""


MINUTE_US = 60_000_000
MAIL = PersonAddress(channel="email", address="Ada@example.org")
ADA = Person(
    id="ada",
    owner_agent=HOUSEHOLD_OWNER,
    name="Ada",
    agent_address="agent://ada",
    role=PersonRole.MEMBER,
    addresses=(PersonAddress(channel="telegram", address="77"), MAIL),
    source="api",
    created_at_us=1,
    updated_at_us=1,
)


class Said:
    """Things said one minute after the other."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.minutes = 0
        self.mint = IdMint().mint

    def at_us(self) -> int:
        self.minutes += 1
        return NOON_US + self.minutes * MINUTE_US

    async def written(self, place: str = "77", *, person: str = "ada", butler: str = "general") -> KeptMessage:
        at_us = self.at_us()
        store = StoredInbound(self.database, self.mint)
        message = InboundMessage(
            channel="telegram", number=1, message_id=f"{self.minutes}", places=(place,), sender="77", text="hi"
        )
        decision = RoutedMessage(kind=RouteKind.BUTLER, target=butler, reason="named", words="hi")
        await store.keep(message, at_us)
        assert await store.decide(message, decision, person, at_us)
        return await store.named(message)

    async def sent(self, channel: str = "telegram", address: str = "77", **more: Any) -> str:
        key = f"{channel}:{address.lower()}"
        at_us = self.at_us()
        row = request_row(at_us, id=self.mint(at_us), channel=channel, address=address, order_key=key, **more)

        def work(connection: Connection) -> None:
            connection.execute(insert(delivery_requests), [row])

        await self.database.write(work)
        return str(row["id"])

    async def asked(self, person: str = "ada", *, asker: str = "butler:health", card: str | None = None) -> str:
        at_us, people = self.at_us(), (AskedPerson(id=person, name=person),)
        question = replace(new_question(asker=asker, people=people, now_us=at_us), id=self.mint(at_us))
        await StoredQuestions(self.database, Seal(bytes(32))).ask(question)
        if card is not None:
            cards = StoredPresentations(self.database, lambda _: f"card-{question.id}", WRITTEN)
            place = PlannedPresentation(person_id=person, channel="telegram", address="77")
            await cards.plan(question.id, [person], [place], self.at_us())
        return question.id

    async def history(self, **wanted: Any) -> list[str]:
        """All pages of it."""
        store, found, before = Histories(self.database), list[str](), None
        for _ in range(50):
            query = HistoryQuery(**{"before": before, **wanted})
            page, before = merged(await store.parts(ADA, query), query.limit)
            found += [one.id for one in page]
            if before is None:
                return found
        raise AssertionError("it does not end")


@pytest.fixture
def said(database: Database) -> Said:
    return Said(database)


@pytest.mark.requirement("talk:history")
async def test_both_ways_in_one_order_and_the_same_in_pages(said: Said) -> None:
    first = await said.written()
    expected = [
        first.id,
        await said.sent(request_id=first.id),
        (await said.written("-100")).id,
        await said.sent("email", "ADA@example.org"),
        await said.asked(),
        (await said.written()).id,
    ]
    await said.written(person="bob")
    await said.sent("email", "bob@example.org")
    await said.sent("telegram", "ada@example.org")  # the same letters elsewhere are another address
    await said.asked("bob")

    assert await said.history() == expected[::-1]
    assert await said.history(limit=2) == expected[::-1]
    assert await said.history(limit=1) == expected[::-1]


@pytest.mark.requirement("talk:history")
async def test_it_is_filtered_by_butler_and_by_channel(said: Said) -> None:
    mine, other = await said.written(butler="health"), await said.written(butler="general")
    by_health = await said.sent(origin_butler="health")
    for_health = await said.sent(origin_butler="messenger", request_id=mine.id)
    mail = await said.sent("email", "ada@example.org", origin_butler="general")
    asked, shown = await said.asked(), await said.asked(asker="butler:general", card="shown")

    assert await said.history(butler="health") == [asked, for_health, by_health, mine.id]
    assert await said.history(butler="general", limit=1) == [shown, mail, other.id]
    assert await said.history(channel="telegram") == [shown, for_health, by_health, other.id, mine.id]
    assert await said.history(channel="email", butler="general") == [mail]
    assert await said.history(butler="%") == [] == await said.history(channel="fax")


async def test_an_answer_in_a_group_is_the_persons_and_what_it_sent_to_others_is_not(said: Said) -> None:
    asked = await said.written("-100")
    answer = await said.sent(address="-100", request_id=asked.id)
    await said.sent("email", "bob@example.org", request_id=asked.id)
    await said.sent(address="-100")

    assert await said.history() == [answer, asked.id]
    [part, *_] = await Histories(said.database).parts(ADA, HistoryQuery())
    assert part.entries[0].replies == (answer,)


async def test_a_question_is_there_once_and_not_as_its_cards(said: Said) -> None:
    question = await said.asked(card="shown")
    for _ in range(2):
        await said.sent(request_id=f"card-{question}", origin_butler="questions")
    late = await said.sent(request_id="ask:late:telegram:9", origin_butler="questions")

    assert await said.history() == [late, question]


async def test_a_filter_that_fits_nothing_reads_so_many_rows_and_goes_on(
    said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "LOOKED_AT", 3)
    old = await said.written(butler="health")
    for _ in range(7):
        await said.written(butler="general")
        await said.sent("email", "bob@example.org")
    query = HistoryQuery(butler="health", limit=2)

    page, before = merged(await Histories(said.database).parts(ADA, query), 2)

    assert page == [] and before is not None
    assert await said.history(butler="health", limit=2) == [old.id]


@pytest.mark.requirement("talk:history")
async def test_every_statement_goes_by_an_index(tmp_path: Path) -> None:
    async with opened_file(tmp_path) as database:
        said = Said(database)
        await said.sent(request_id=(await said.written()).id)
        await said.asked(card="shown")
        with query_plans(database) as steps:
            for wanted in ({}, {"butler": "health"}, {"channel": "telegram"}, {"butler": "health", "before": "f"}):
                await said.history(**wanted)

    read_whole = [one for one in steps if one.startswith("SCAN") and "newest" not in one and "CONSTANT" not in one]
    assert [one for one in read_whole if "USING" not in one] == [], steps
    assert any("ix_inbound_messages_conversation" in one for one in steps)
    assert any("ix_inbound_messages_target" in one for one in steps)
    assert any("ix_question_people_person_id" in one for one in steps)


@pytest.mark.requirement("talk:console")
async def test_the_last_of_each_person_is_found_newest_first(database: Database, people: StoredPeople) -> None:
    said, lately = Said(database), Lately(database, HOUSEHOLD_OWNER)
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
    assert await Lately(database, HOUSEHOLD_OWNER).last(10) == {}
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
    return StoredPeople(database, IdMint().mint, ())


# What was said in a conversation, read from both ledgers, on either database.


@pytest.fixture
def store(database: Database) -> StoredInbound:
    return StoredInbound(database, IdMint().mint)


def words(number: int, **more: Any) -> InboundMessage:
    return InboundMessage(
        channel="telegram", number=number, message_id=str(number), places=("77", "@ada"), sender="77", text="x", **more
    )


async def routed(store: StoredInbound, number: int, *, text: str = "hi", person: str = "p1") -> KeptMessage:
    at_us = NOON_US + number * MINUTE_US
    decision = RoutedMessage(kind=RouteKind.BUTLER, target="general", reason="named", words=text)
    await store.keep(words(number), at_us)
    assert await store.decide(words(number), decision, person, at_us)
    return await store.named(words(number))


@pytest.mark.requirement("talk:answered-in-thread")
@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ({}, True),
        ({"intent": "send"}, True),
        ({"intent": "react"}, False),
        ({"origin_butler": "messenger"}, False),
        ({"address": "88"}, False),
        ({"channel": "email"}, False),
        ({"address": "@ada", "status": "awaiting_approval"}, True),
    ],
    ids=str,
)
async def test_only_the_butlers_own_words_to_that_place_are_its_answer(
    store: StoredInbound, database: Database, changes: dict[str, Any], counts: bool
) -> None:
    kept, talk = await routed(store, 1), StoredTalk(database)
    assert not await talk.replied(kept.id)

    await sent(database, request_id=kept.id, **changes)

    assert await talk.replied(kept.id) is counts
    assert not await talk.replied("no such message")


@pytest.mark.requirement("talk:turns")
async def test_turns_are_those_of_this_conversation_in_their_order(store: StoredInbound, database: Database) -> None:
    first = await routed(store, 1, text="one")
    await routed(store, 2, text="of another", person="p2")
    await sent(database, request_id=first.id, message_content="answer", created_at=NOON_US + 3 * MINUTE_US)
    await routed(store, 4, text="two")
    last, talk = await routed(store, 5, text="now"), StoredTalk(database)

    assert [(one.by, one.text) for one in await talk.turns(last, 9)] == [
        ("person", "one"),
        ("general", "answer"),
        ("person", "two"),
    ]
    assert [one.text for one in await talk.turns(last, 2)] == ["answer", "two"]


@pytest.mark.requirement("talk:order")
async def test_a_reply_is_to_whoever_sent_or_had_said_the_message(store: StoredInbound, database: Database) -> None:
    kept, talk = await routed(store, 1), StoredTalk(database)
    await sent(database, "500", origin_butler="health", intent="send")
    await sent(database, "501", origin_butler="messenger", request_id=kept.id)
    await sent(database, "502", origin_butler="health", address="88")
    named = await sent(database, "503", origin_butler="home")

    found = [await talk.replied_to(words(9, replies_to=one)) for one in ("500", "501", "502", "999")]
    assert [one.by if one else None for one in found] == ["health", "general", None, None]
    at_home = await talk.replied_to(words(9, answers=DeliveryId(named)))
    assert at_home is not None and (at_home.by, at_home.id) == ("home", named)
    assert await talk.replied_to(words(9)) is None
    nobody: set[str] = set()
    for besides, by in ((nobody, "home"), ({"home"}, "general"), ({"home", "messenger"}, "health")):
        last = await talk.last_sent(words(9), besides)
        assert last is not None and last.by == by


@pytest.mark.requirement("talk:restart")
async def test_a_session_whose_message_is_answered_or_stopped_is_over(store: StoredInbound, database: Database) -> None:
    answered, stopped, waits = [await routed(store, number) for number in (1, 2, 3)]
    await sent(database, request_id=answered.id)
    await store.move(stopped, InboundMove.STOP, NOON_US)
    talk = StoredTalk(database)

    over = [await talk.is_over(session(one)) for one in (answered.id, stopped.id, waits.id, "other", None)]

    assert over == [True, True, False, False, False]
