"""What waits for the bot: how long, in which kinds, for one reader."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.sandbox.client import Client
from tests.sandbox.hand_clock import HandClock

from postroom.sandbox import telegram_ledger
from postroom.sandbox.ledger import SandboxLedger

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


@pytest.mark.parametrize("seconds", [None, 0, -1, "150", True, 10**9])
async def test_how_long_it_is_away_is_a_number(client: Client, seconds: object) -> None:
    answer = await client.post("/sandbox/telegram/away", {"seconds": seconds})

    assert (answer["http_status"], answer["error"]["fields"][0]["field"]) == (422, "seconds")


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


@pytest.mark.requirement("house:sandbox-is-bounded")
def test_each_chat_keeps_its_last_messages_and_the_queue_its_last_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telegram_ledger, "KEPT_PER_CHAT", 150)
    monkeypatch.setattr(telegram_ledger, "MOST_WAITING", 50)
    ledger = SandboxLedger()
    quiet = ledger.telegram.keep(chat_id="7", text="alone", now_us=1)
    first = ledger.telegram.keep(chat_id="42", text="0", now_us=1, reply_markup='{"inline_keyboard": []}')
    ledger.telegram.press(first, "x", now_us=1, announce=lambda _: ("callback_query", {}))
    ledger.telegram.edit(first, "1", None, now_us=1)
    for number in range(998):
        ledger.telegram.keep(chat_id="42", text=str(number), now_us=1, announce=lambda _: ("message", {}))

    kept = ledger.telegram.messages(from_person=None, chat_id="42", since=None, limit=10_000)
    assert (len(kept), kept[-1].text) == (150, "997")
    assert ledger.telegram.message("7", quiet.message_id) is not None
    assert ledger.telegram.callbacks(since=None, limit=10) == []
    assert len(ledger.telegram.updates(offset=0, limit=1000, kinds=["message", "callback_query"])) == 50
    ledger.close()


def test_a_file_of_an_earlier_version_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "sandbox.db"
    old = SandboxLedger(path)
    old.telegram.keep(chat_id="42", text="before", now_us=1)
    with old._file.writing() as connection:
        connection.execute("alter table telegram_messages drop column from_id")
        connection.execute("alter table telegram_updates drop column expires_us")
    old.close()

    new = SandboxLedger(path)
    new.telegram.keep(chat_id="42", text="after", now_us=1, from_id=9, announce=lambda _: ("message", {}))

    found = new.telegram.messages(from_person=None, chat_id=None, since=None, limit=10)
    assert [(one.text, one.from_id) for one in found] == [("before", None), ("after", 9)]
    new.close()
