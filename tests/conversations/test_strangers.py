"""A stranger who writes to the bot gets one sentence a day, and their words are kept out of the log."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.clock import FakeClock
from tests.household.living import LIFTED, QUICK, Living, living
from tests.opened_database import opened_file
from tests.patience import PATIENCE_SECONDS
from tests.people.known_people import household_people

from postroom.conversations.history import StoredTalk
from postroom.conversations.model import InboundMove, KeptMessage, RoutedMessage, RouteKind
from postroom.conversations.mute_and_snooze import SENTENCE
from postroom.conversations.store import StoredInbound
from postroom.conversations.talk import Talk
from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import IdMint
from postroom.message.inbound import InboundMessage
from postroom.message.outgoing import Outcome, Outgoing
from postroom.message.wire import notify_document, read_response
from postroom.people.model import NewPerson, PersonAddress
from postroom.questions.asked_people import AskedPeople

DAY_SECONDS = 24 * 3600


class Post:
    """The way out as a list."""

    def __init__(self) -> None:
        self.sent: list[Mapping[str, Any]] = []

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        self.sent.append(notify_document(outgoing))
        return read_response({"status": "accepted"})


ADA = NewPerson(name="Ada", addresses=(PersonAddress(channel="pager", address="77", verified_at_us=1),))
GENERAL = RoutedMessage(kind=RouteKind.BUTLER, target="general", reason="named", words="hi")


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Where somebody writes to us: a record, those who are known, and a way out."""

    database: Database
    clock: FakeClock
    post: Post
    kept: StoredInbound
    people: AskedPeople

    def talk(self, butlers: Mapping[str, bool]) -> Talk:
        return Talk(
            kept=self.kept,
            people=self.people,
            threads=StoredTalk(self.database),
            butlers=butlers,
            outbound=self.post,
            clock=self.clock,
            sessions_per_day=3,
            tokens_per_day=1000,
        )

    async def hear(self, message: InboundMessage, butlers: Mapping[str, bool] | None = None) -> KeptMessage:
        """Kept first, as every message is."""
        await self.kept.keep(message, self.clock.now_us())
        assert await self.talk(butlers or {}).handle(message)
        return await self.kept.named(message)

    async def spent(self, tokens: int = 0) -> None:
        """A message of Ada's that a butler answered."""
        message, now_us = written(str(self.kept._mint(0)), sender="77"), self.clock.now_us()
        await self.kept.keep(message, now_us)
        person = await self.people.at("pager", "77")
        assert person is not None and await self.kept.decide(message, GENERAL, person.id, now_us)
        await self.kept.move(await self.kept.named(message), InboundMove.HAND_OVER, now_us, session_id="s")
        await self.kept.move(await self.kept.named(message), InboundMove.ANSWER, now_us, tokens=tokens)


async def room_of(database: Database, clock: FakeClock, *people: NewPerson) -> Room:
    stored, _ = await household_people(database, *people)
    kept = StoredInbound(database, IdMint().mint)
    return Room(database=database, clock=clock, post=Post(), kept=kept, people=AskedPeople(book=stored))


@pytest.fixture
async def room(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Room]:
    async with opened_file(tmp_path) as database:
        yield await room_of(database, clock)


def written(message_id: str = "9", **more: Any) -> InboundMessage:
    values = {"text": "secret", "alone": True, **more}
    return InboundMessage(channel="pager", number=5, message_id=message_id, places=("77", "@ada"), **values)


async def write(home: Living, text: str, chat_id: int = 4242) -> None:
    body = {"chat_id": chat_id, "text": text}
    async with home.http.post(home.household.addresses["sandbox"] + "telegram/inbound", json=body) as response:
        assert response.status == 200


async def answered(home: Living, count: int) -> list[dict[str, Any]]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(found := await home.received()) < count:
            await asyncio.sleep(0.02)
    return found


@pytest.mark.parametrize("approvals", [False, True], ids=["approvals off", "approvals on"])
async def test_somebody_who_writes_to_the_bot_gets_one_sentence_a_day(tmp_path: Path, approvals: bool) -> None:
    asking = {"approvals": {"enabled": approvals, "ask_owner": False}}
    async with living(tmp_path, LIFTED, QUICK, asking) as home:
        await write(home, "Is anybody there?")
        (message,) = await answered(home, 1)
        await write(home, "Hello?")
        await write(home, "And I?", chat_id=5151)
        messages = await answered(home, 2)

        assert (message["chat_id"], message["text"]) == ("4242", SENTENCE)
        assert sorted(one["chat_id"] for one in messages) == ["4242", "5151"]
        rows = home.rows("delivery_requests")
        assert [(row["origin_butler"], row["intent"]) for row in rows] == [("messenger", "reply")] * 2


async def test_the_sentence_is_a_reply_on_the_channel_and_in_the_place_it_came_from(room: Room) -> None:
    await room.hear(written())

    (envelope,) = room.post.sent
    assert envelope["delivery"] == {"intent": "reply", "channel": "pager", "message": SENTENCE}
    assert envelope["request_context"] == {
        "request_id": "pager-update-5",
        "source_channel": "pager",
        "source_endpoint_identity": "bot",
        "source_sender_identity": "77",
        "source_thread_identity": "77:9",
    }


async def test_another_day_has_another_key(room: Room) -> None:
    await room.hear(written())
    await room.hear(written("10"))
    await room.clock.advance(DAY_SECONDS)
    await room.hear(written("11"))

    keys = [envelope["idempotency_key"] for envelope in room.post.sent]
    assert keys[0] == keys[1] != keys[2]


async def test_who_is_not_alone_with_us_is_not_answered(room: Room) -> None:
    kept = await room.hear(written(alone=False))

    assert room.post.sent == []
    assert kept.kind is RouteKind.IGNORED


async def test_the_log_has_a_line_and_not_a_word_of_it(room: Room) -> None:
    with capture_logs() as lines:
        await room.hear(written())

    assert [line["event"] for line in lines] == ["inbound.unhandled"]
    assert "secret" not in json.dumps(lines)
