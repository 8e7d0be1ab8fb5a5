"""What waits for the bot: how long, in which kinds, for one reader."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.sandbox.client import Client
from tests.sandbox.hand_clock import HandClock

from postroom.sandbox.records import SANDBOX_TOKEN, bot_name, sandbox_token

KEYS = {"inline_keyboard": [[{"text": "Yes", "callback_data": "yes"}]]}
TOO_OLD = "Bad Request: query is too old and response timeout expired or query ID is invalid"


async def pressed(client: Client) -> str:
    sent = (await client.bot("sendMessage", chat_id=42, text="?", reply_markup=KEYS))["result"]["message_id"]
    answer = await client.post("/sandbox/telegram/press", {"message_id": sent, "button": "Yes"})
    number: str = answer["callback"]["callback_query_id"]
    return number


async def kinds(client: Client, **arguments: Any) -> list[str]:
    updates = (await client.bot("getUpdates", **arguments))["result"]
    return [next(name for name in update if name != "update_id") for update in updates]


async def type_text(client: Client, text: str = "Hi") -> None:
    assert (await client.post("/sandbox/telegram/inbound", {"chat_id": 42, "text": text}))["http_status"] == 200


@pytest.mark.requirement("house:sandbox-presses-expire")
async def test_a_press_waits_150_seconds_and_a_text_a_day(client: Client, clock: HandClock) -> None:
    await pressed(client)
    await type_text(client)

    await clock.turn(149)
    assert await kinds(client) == ["callback_query", "message"]
    await clock.turn(1)
    assert await kinds(client) == ["message"]
    await clock.turn(86_400 - 150)
    assert await kinds(client) == []


@pytest.mark.requirement("house:sandbox-presses-expire")
async def test_a_press_is_answered_while_it_lives(client: Client, clock: HandClock) -> None:
    early, late = await pressed(client), await pressed(client)
    await clock.turn(149)
    first = await client.bot("answerCallbackQuery", callback_query_id=early)
    await clock.turn(1)

    assert first["ok"]
    assert (await client.bot("answerCallbackQuery", callback_query_id=late))["description"] == TOO_OLD


@pytest.mark.requirement("house:sandbox-presses-expire")
async def test_a_bot_can_be_away_without_any_time_passing(client: Client) -> None:
    number = await pressed(client)
    await type_text(client)

    assert (await client.post("/sandbox/telegram/away", {"seconds": 150}))["http_status"] == 200

    assert await kinds(client) == ["message"]
    assert (await client.bot("answerCallbackQuery", callback_query_id=number))["description"] == TOO_OLD


@pytest.mark.requirement("house:sandbox-like-telegram")
async def test_the_kinds_asked_for_last_stand_until_others_are(client: Client) -> None:
    await pressed(client)
    await type_text(client)

    assert await kinds(client, allowed_updates=["callback_query"]) == ["callback_query"]
    assert await kinds(client) == ["callback_query"]
    assert await kinds(client, allowed_updates=[]) == ["callback_query", "message"]


@pytest.mark.requirement("house:sandbox-like-telegram")
async def test_of_two_readers_the_earlier_is_told_of_the_other(client: Client, clock: HandClock) -> None:
    first = asyncio.create_task(client.bot("getUpdates", timeout=50))
    await clock.sleeping(1)

    second = asyncio.create_task(client.bot("getUpdates", timeout=50))
    refused = await asyncio.wait_for(first, PATIENCE_SECONDS)
    await type_text(client)
    taken = await asyncio.wait_for(second, PATIENCE_SECONDS)

    assert (refused["http_status"], refused["error_code"]) == (409, 409)
    assert refused["description"].startswith("Conflict: terminated by other getUpdates request")
    assert [update["message"]["text"] for update in taken["result"]] == ["Hi"]


@pytest.mark.requirement("house:sandbox-like-telegram")
async def test_an_offset_beyond_the_end_confirms_nothing(client: Client) -> None:
    """After a quiet week the numbers start elsewhere, perhaps lower than where the bot stopped."""
    await type_text(client)

    assert await kinds(client, offset=900_000) == ["message"]
    assert await kinds(client, offset=2) == []


def test_a_token_names_its_bot() -> None:
    assert [bot_name(sandbox_token(name)) for name in ("", "work", "a-b_c")] == ["", "work", "a-b_c"]
    assert bot_name("4242:sandbox-work") == ""
    assert sandbox_token() == SANDBOX_TOKEN


@pytest.mark.requirement("chan:sandbox-accounts")
async def test_what_is_done_to_a_message_is_for_the_bot_that_sent_it(client: Client) -> None:
    work = sandbox_token("work")
    sent = (await client.bot("sendMessage", token=work, chat_id=42, text="?", reply_markup=KEYS))["result"]
    await client.post("/sandbox/telegram/press", {"message_id": sent["message_id"], "button": "Yes"})
    reply = {"chat_id": 42, "text": "no", "reply_to_message_id": sent["message_id"]}
    await client.post("/sandbox/telegram/inbound", reply)
    await type_text(client)

    assert await kinds(client) == ["message"]
    assert await kinds(client, token=work) == ["callback_query", "message"]
    assert await kinds(client, offset=4) == []
    assert await kinds(client, token=work) == ["callback_query", "message"]
