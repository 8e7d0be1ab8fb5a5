"""A household with an account on a homeserver: a lost answer leaves one message, and a reply there is an answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.channels.matrix.case import TOKEN
from tests.channels.matrix.person import PERSON, US, Homeserver
from tests.household.asked_household import ask, has_address, parts, until
from tests.household.living import QUICK, Living, living

from postroom.testing import HttpProvider, Reply, TakenRequest, reply


class WholeHomeserver(Homeserver):
    """Takes messages, too, each transaction once; `loses` so many of its next answers."""

    def __init__(self) -> None:
        super().__init__()
        self.transactions: dict[str, str] = {}
        self.loses = 0
        self.port = 0

    def answer(self, request: TakenRequest) -> Reply:
        told = super().answer(request)
        if told is not None:
            return told
        if request.path not in self.transactions:
            self.transactions[request.path] = self.say(request.body, sender=US)
        if self.loses:
            self.loses -= 1
            return Reply(raw=b"", close=True)
        return reply(200, {"event_id": self.transactions[request.path]})

    @property
    def ours(self) -> list[dict[str, Any]]:
        return [one for one in self.events if one["sender"] == US]


@pytest.fixture
async def server() -> AsyncIterator[WholeHomeserver]:
    home = WholeHomeserver()
    async with HttpProvider(aside=home.answer) as provider:
        home.port = provider.port
        yield home


@pytest.fixture
async def house(home: Path, server: WholeHomeserver) -> AsyncIterator[Living]:
    account = {"kind": "matrix", "homeserver": f"http://127.0.0.1:{server.port}", "token": TOKEN}
    settings = {"channels": {"matrix": account}, "approvals": {"enabled": False}}
    async with living(home, QUICK, settings) as household:
        await has_address(household, "matrix", rank=1, address=PERSON)
        yield household


async def test_a_message_whose_answer_was_lost_is_sent_again_and_shown_once(
    house: Living, server: WholeHomeserver
) -> None:
    server.loses = 1

    told = await house.notify(channel="matrix", message="Tea is ready")

    assert told["status"] == "ok", told
    assert [one["content"]["body"] for one in server.ours] == ["Tea is ready"]


async def test_a_reply_in_the_room_answers_the_question_and_the_card_says_so(
    house: Living, server: WholeHomeserver
) -> None:
    await ask(house, question="Ship it?", options=["yes", "no"], channels=["matrix"])

    async def card() -> dict[str, Any] | None:
        return next((one for one in server.ours if "Ship it?" in one["content"]["body"]), None)

    async def closed() -> dict[str, Any] | None:
        return next((one for one in server.ours if "m.new_content" in one["content"]), None)

    shown = await until(card)
    relation = {"m.relates_to": {"m.in_reply_to": {"event_id": shown["event_id"]}}}
    now_ms = parts(house).world.clock.now_us() // 1_000
    server.say({"msgtype": "m.text", "body": "yes", **relation}, at_ms=now_ms)
    edited = await until(closed)

    assert edited["content"]["m.relates_to"]["event_id"] == shown["event_id"]
    assert "yes" in edited["content"]["m.new_content"]["body"]
