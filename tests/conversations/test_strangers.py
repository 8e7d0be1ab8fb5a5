"""A stranger who writes to the bot gets one sentence a day, and their words are kept out of the log."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.conversations.room import Room, written
from tests.household.living import LIFTED, QUICK, Living, living
from tests.patience import PATIENCE_SECONDS

from postroom.conversations.texts import ENGLISH

DAY_SECONDS = 86_400


async def write(home: Living, text: str, chat_id: int = 4242) -> int:
    body = {"chat_id": chat_id, "text": text}
    async with home.http.post(home.household.addresses["sandbox"] + "telegram/inbound", json=body) as response:
        assert response.status == 200
        return int((await response.json())["message_id"])


async def answered(home: Living, count: int) -> list[dict[str, Any]]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(found := await home.received()) < count:
            await asyncio.sleep(0.02)
    return found


@pytest.mark.parametrize("approvals", [False, True], ids=["approvals off", "approvals on"])
async def test_somebody_who_writes_to_the_bot_gets_one_sentence_a_day_and_no_word_of_theirs_is_logged(
    tmp_path: Path, approvals: bool
) -> None:
    asking = {"approvals": {"enabled": approvals, "ask_owner": False}}
    async with living(tmp_path, LIFTED, QUICK, asking) as home:
        with capture_logs() as lines:
            first = await write(home, "Is anybody there?")
            (message,) = await answered(home, 1)
            await write(home, "Hello?")
            await write(home, "And I?", chat_id=5151)
            messages = await answered(home, 2)

        assert (message["chat_id"], message["text"]) == ("4242", ENGLISH.stranger)
        assert "reply to the message" not in message["text"]  # an unproven reply to a card answers nothing either
        assert message["reply_to_message_id"] == first
        assert sorted(one["chat_id"] for one in messages) == ["4242", "5151"]
        rows = home.rows("delivery_requests")
        assert [(row["origin_butler"], row["intent"]) for row in rows] == [("messenger", "reply")] * 2
        assert "inbound.unhandled" in {one["event"] for one in lines} and "anybody" not in str(lines)


async def test_another_day_has_another_key(room: Room) -> None:
    await room.hear(written())
    await room.hear(written("10"))
    await room.clock.advance(DAY_SECONDS)
    await room.hear(written("11"))

    keys = [one.idempotency_key for one in room.post.sent]
    assert keys[0] == keys[1] != keys[2]
