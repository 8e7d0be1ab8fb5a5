"""The adapter and the sandbox's Bot API, over a real socket: a card is sent, pressed, answered, ticked and closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from tests.channels.given import message_to, post
from tests.patience import PATIENCE_SECONDS

from postroom.channels.telegram.channel import AnotherReader, Telegram
from postroom.kernel.values.errors import OutcomeUncertain, ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.markup import Button, ButtonStyle, Markup, Revision
from postroom.sandbox.records import SANDBOX_TOKEN, Callback, TelegramMessage
from postroom.sandbox.server import Sandbox

YES = Button(label="Yes", token="q1:yes", style=ButtonStyle.SUCCESS)
CARD = Markup(buttons=((YES, Button(label="No", token="q1:no")),))


@pytest.fixture
async def telegram(sandbox: Sandbox) -> AsyncIterator[Telegram]:
    channel = Telegram(SANDBOX_TOKEN, sandbox.bot_api_url)
    yield channel
    await channel.close()


async def send(telegram: Telegram, **changes: Any) -> tuple[str, ...]:
    parts = telegram.prepare(message_to("42", **changes))
    return tuple([(await telegram.send(part, 5.0)).provider_id for part in parts])


def of(provider_ids: tuple[str, ...]) -> Revision:
    return Revision(delivery_id=DeliveryId("d"), provider_ids=provider_ids)


def shown(sandbox: Sandbox) -> list[tuple[str, bool]]:
    found = sandbox.ledger.shown(TelegramMessage, place="42", from_person=False)
    return [(message.text, message.reply_markup is not None) for message in found]


@pytest.mark.requirement("house:telegram-presses-are-answered")
async def test_a_press_is_fetched_and_answered(sandbox: Sandbox, telegram: Telegram) -> None:
    [number] = await send(telegram, markup=CARD)
    await post(sandbox, "telegram/press", {"message_id": number, "button": "Yes"})

    [update] = await telegram.updates(None, 0)
    query = update["callback_query"]

    assert (query["data"], str(query["message"]["message_id"])) == ("q1:yes", number)
    assert await telegram.answer_press(query["id"], "Got it")
    assert not await telegram.answer_press(query["id"], "Got it")
    [press] = sandbox.ledger.shown(Callback)
    assert press.answer == "Got it"


async def test_a_card_is_ticked_closed_and_closed_again(sandbox: Sandbox, telegram: Telegram) -> None:
    sent = await send(telegram, markup=CARD)
    ticked = Markup(buttons=((Button(label="☑ Yes", token="q1:yes"),),))

    for _ in range(2):
        assert await send(telegram, text="", markup=ticked, revises=of(sent)) == (f"edit:42:{sent[0]}",)
    for _ in range(2):
        await send(telegram, text="Closed", revises=of(sent))

    assert shown(sandbox) == [("Closed", False)]
    [message] = sandbox.ledger.shown(TelegramMessage, place="42", from_person=False)
    assert len(message.edits) == 2


async def test_an_edit_that_was_cut_off_is_made_and_may_be_made_again(sandbox: Sandbox, telegram: Telegram) -> None:
    sent = await send(telegram, markup=CARD)
    await post(sandbox, "faults", {"channel": "telegram", "mode": "accept_then_cut"})

    with pytest.raises(OutcomeUncertain):
        await send(telegram, text="Closed", revises=of(sent))
    await send(telegram, text="Closed", revises=of(sent))

    assert shown(sandbox) == [("Closed", False)]


async def test_what_cannot_be_edited_says_why(sandbox: Sandbox, telegram: Telegram) -> None:
    asking = await send(telegram, markup=Markup(force_reply=True, placeholder="Why?"))

    with pytest.raises(ValidationError, match="message can't be edited"):
        await send(telegram, text="Closed", revises=of(asking))
    with pytest.raises(ValidationError, match="message to edit not found"):
        await send(telegram, text="Closed", revises=of(("999",)))


async def test_a_reply_to_any_part_names_that_part(sandbox: Sandbox, telegram: Telegram) -> None:
    sent = await send(telegram, text="word " * 2_000, markup=CARD)
    for number in sent:
        await post(sandbox, "telegram/inbound", {"chat_id": 42, "text": "Yes", "reply_to_message_id": number})

    updates = await telegram.updates(None, 0)

    assert [str(one["message"]["reply_to_message"]["message_id"]) for one in updates] == list(sent)
    assert [buttons for _, buttons in shown(sandbox)] == [False, False, True]


async def test_a_reader_learns_of_another(sandbox: Sandbox, telegram: Telegram) -> None:
    waiting = asyncio.create_task(telegram.updates(None, 30))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not waiting.done():
            await telegram.updates(None, 0)
    with pytest.raises(AnotherReader):
        await waiting


@pytest.mark.requirement("content:what-was-sent-is-edited-or-deleted")
async def test_a_message_is_deleted_once_or_twice_and_cannot_be_edited_then(
    sandbox: Sandbox, telegram: Telegram
) -> None:
    sent = await send(telegram)
    gone = replace(of(sent), deletes=True)

    told = [await send(telegram, text="", revises=gone) for _ in range(2)]
    with pytest.raises(ValidationError, match="not found"):
        await send(telegram, text="Too late", revises=of(sent))

    [message] = sandbox.ledger.shown(TelegramMessage, place="42", from_person=False)
    assert message.is_deleted
    assert told == [(f"delete:42:{sent[0]}",)] * 2
