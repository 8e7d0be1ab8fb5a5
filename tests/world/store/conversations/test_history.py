"""Everything said with one person, on either database: both ways, once, in pages, and by indexes that exist."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert
from tests.opened_database import KINDS, opened_database, opened_file
from tests.work.questions.sample_questions import new_question
from tests.world.store.delivery_rows import NOON_US, request_row
from tests.world.store.query_plans import query_plans

from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.ids import IdMint
from postroom.domain.inbound_message import InboundMessage
from postroom.domain.kept_message import KeptMessage, RoutedMessage, RouteKind
from postroom.domain.person import Person, PersonAddress, PersonRole
from postroom.domain.person_history import HistoryQuery, merged
from postroom.domain.presentation import PlannedPresentation
from postroom.domain.question import AskedPerson
from postroom.system.seal import Seal
from postroom.world.store.conversations import history
from postroom.world.store.conversations.history import StoredPersonHistory
from postroom.world.store.conversations.inbound import StoredInbound
from postroom.world.store.engine.database import Database
from postroom.world.store.questions.presentations import StoredPresentations
from postroom.world.store.questions.questions import StoredQuestions
from postroom.world.store.tables.deliveries import delivery_requests

MINUTE_US = 60_000_000
MAIL = PersonAddress(channel="email", address="Ada@example.org")
ADA = Person(
    id="ada",
    owner_agent=HOUSEHOLD_OWNER,
    name="Ada",
    aliases=(),
    agent_address="agent://ada",
    role=PersonRole.MEMBER,
    trusted=False,
    zone=None,
    language=None,
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
        decided = await store.decide(await store.keep(message, at_us), decision, person, at_us)
        assert decided is not None
        return decided

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
            cards = StoredPresentations(self.database, lambda _: f"card-{question.id}")
            place = PlannedPresentation(person_id=person, channel="telegram", address="77")
            await cards.plan(question.id, [person], [place], self.at_us())
        return question.id

    async def history(self, **wanted: Any) -> list[str]:
        """All pages of it."""
        store, found, before = StoredPersonHistory(self.database), list[str](), None
        for _ in range(50):
            query = HistoryQuery(**{"before": before, **wanted})
            page, before = merged(await store.parts(ADA, query), query.limit)
            found += [one.id for one in page]
            if before is None:
                return found
        raise AssertionError("it does not end")


@pytest.fixture(params=KINDS)
async def said(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Said]:
    async with opened_database(request.param, tmp_path, request) as database:
        yield Said(database)


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
    [part, *_] = await StoredPersonHistory(said.database).parts(ADA, HistoryQuery())
    assert part.entries[0].replies == (answer,)


async def test_a_question_is_there_once_and_not_as_its_cards(said: Said) -> None:
    question = await said.asked(card="shown")
    for _ in range(2):
        await said.sent(request_id=f"ask:card-{question}", origin_butler="questions")
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

    page, before = merged(await StoredPersonHistory(said.database).parts(ADA, query), 2)

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
