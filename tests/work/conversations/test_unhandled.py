"""A message to the bot that no part of the household takes is answered once, and its words are kept out of the log."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.app.living import LIFTED, QUICK, Living, living
from tests.clock import FakeClock

from postroom.domain.notify import notify_document
from postroom.domain.notify_response import read_response
from postroom.domain.outcome import Outcome
from postroom.domain.outgoing import Outgoing
from postroom.work.conversations.unhandled import SENTENCE, unhandled_handler

DAY_SECONDS = 24 * 3600


class Post:
    """The way out as a list."""

    def __init__(self) -> None:
        self.sent: list[Mapping[str, Any]] = []

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        self.sent.append(notify_document(outgoing))
        return read_response({"status": "accepted"})


def update(chat: Any = None, sender: Any = None, **message: Any) -> dict[str, Any]:
    chat = {"id": 77, "type": "private"} if chat is None else chat
    sender = {"id": 77, "is_bot": False} if sender is None else sender
    return {"update_id": 5, "message": {"message_id": 9, "chat": chat, "from": sender, "text": "secret", **message}}


async def write(home: Living, text: str, chat_id: int = 4242) -> None:
    body = {"chat_id": chat_id, "text": text}
    async with home.http.post(home.household.addresses["sandbox"] + "telegram/inbound", json=body) as response:
        assert response.status == 200


async def answered(home: Living, count: int) -> list[dict[str, Any]]:
    async with asyncio.timeout(20):
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


async def test_what_is_no_message_is_left_alone() -> None:
    post = Post()
    handle = unhandled_handler(post, FakeClock())

    assert not await handle({"update_id": 5, "callback_query": {}})
    assert post.sent == []


async def test_another_day_has_another_key(clock: FakeClock) -> None:
    post = Post()
    handle = unhandled_handler(post, clock)

    await handle(update())
    await handle(update(message_id=10))
    await clock.advance(DAY_SECONDS)
    await handle(update(message_id=11))

    keys = [envelope["idempotency_key"] for envelope in post.sent]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize(
    "odd",
    [
        update(chat={"id": -5, "type": "group"}),
        update(chat={"id": -5, "type": "supergroup"}),
        update(chat={"id": 77}),
        update(chat={"id": "77", "type": "private"}),
        update(chat="nonsense"),
        update(sender={"id": 1, "is_bot": True}),
        update(sender="nonsense"),
        update(message_id=None),
    ],
    ids=str,
)
async def test_groups_bots_and_nonsense_are_not_answered(odd: dict[str, Any]) -> None:
    post = Post()

    assert await unhandled_handler(post, FakeClock())(odd)

    assert post.sent == []


async def test_the_log_has_a_line_and_not_a_word_of_it() -> None:
    with capture_logs() as lines:
        await unhandled_handler(Post(), FakeClock())(update())

    assert [line["event"] for line in lines] == ["inbound.unhandled"]
    assert "secret" not in json.dumps(lines)
