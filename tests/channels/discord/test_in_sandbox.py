"""The adapter and the sandbox's Discord, over real sockets: sent, answered, pressed, edited, cut off and killed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from tests.channels.given import message_to, post
from tests.fakes.server import Fakes
from tests.patience import PATIENCE_SECONDS

from postroom.channels.discord.channel import Discord
from postroom.kernel.values.errors import (
    OutcomeUncertain,
    ProviderThrottled,
    ValidationError,
)
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Receipt
from postroom.message.inbound import InboundMessage, Listened, Press
from postroom.message.markup import Button, ButtonStyle, Markup, Revision

YES = Button(label="Yes", token="q1:yes", style=ButtonStyle.SUCCESS)
CARD = Markup(buttons=((YES, Button(label="No", token="q1:no"), Button(label="Open", url="https://home.example/q1")),))


@pytest.fixture
async def discord(sandbox: Fakes) -> AsyncIterator[Discord]:
    channel = Discord("discord", "sandbox.bot.token", f"{sandbox.bot_api_url}/api/v10")
    yield channel
    await channel.close()


async def send(discord: Discord, address: str = "42", **changes: Any) -> list[Receipt]:
    return [await discord.send(part, 5.0) for part in discord.prepare(message_to(address, **changes))]


async def shown(sandbox: Fakes, **query: str) -> list[dict[str, Any]]:
    url = f"{sandbox.bot_api_url}/sandbox/discord/messages"
    async with aiohttp.ClientSession() as http, http.get(url, params=query) as answer:
        return list((await answer.json())["messages"])


async def listened(discord: Discord, position: int | None = None) -> Listened:
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await discord.listen(position, PATIENCE_SECONDS)


async def one_event(discord: Discord) -> InboundMessage | Press:
    [event] = (await listened(discord)).events
    return event


@pytest.mark.requirement("house:discord-direct")
async def test_a_direct_message_is_answered_there_and_edited_there(sandbox: Fakes, discord: Discord) -> None:
    await discord.listen(None, 0)
    [receipt] = await send(discord, address="user:7", markup=CARD)
    wrote = {"place": "user:7", "text": "Yes, ship", "reply_to_message_id": receipt.provider_id}
    await post(sandbox, "discord/inbound", wrote)

    event = await one_event(discord)
    revises = Revision(
        delivery_id=DeliveryId("d1"), provider_ids=(receipt.provider_id,), conversation=receipt.conversation
    )
    await send(discord, address="user:7", text="Answered: yes", revises=revises)

    assert isinstance(event, InboundMessage)
    assert (event.text, event.replies_to, event.alone) == ("Yes, ship", receipt.provider_id, True)
    assert (event.sender, event.places) == ("user:7", (receipt.conversation, "user:7"))
    [kept] = await shown(sandbox, place=receipt.conversation)
    assert (kept["text"], kept["earlier_texts"], kept["buttons"]) == ("Answered: yes", ["Ship it?"], [])


@pytest.mark.requirement("house:discord-presses")
async def test_a_press_is_heard_answered_and_shown_to_the_one_who_pressed(sandbox: Fakes, discord: Discord) -> None:
    await discord.listen(None, 0)
    [receipt] = await send(discord, markup=CARD)
    pressing = asyncio.create_task(
        post(sandbox, "discord/press", {"message_id": receipt.provider_id, "button": "Yes", "from_id": "7"})
    )
    press = await one_event(discord)
    assert isinstance(press, Press)

    assert await discord.answer_press(press.callback_id, "✅ Yes")
    assert not await discord.answer_press(press.callback_id, "again")

    seen = (await pressing)["press"]
    assert (press.token, press.sender, press.places) == ("q1:yes", "user:7", ("42",))
    assert (seen["answered"], seen["text"], seen["ephemeral"]) == (True, "✅ Yes", True)
    [kept] = await shown(sandbox)
    assert [one["text"] for one in kept["body"]["presses"]] == ["✅ Yes"]


async def arm(sandbox: Fakes, **fault: Any) -> None:
    await post(sandbox, "faults", {"channel": "discord", **fault})


@pytest.mark.requirement("house:discord-key")
async def test_cut_after_it_was_taken_and_sent_again_it_stands_there_once(sandbox: Fakes, discord: Discord) -> None:
    parts = discord.prepare(message_to("user:7", text="word " * 900))
    await arm(sandbox, mode="accept_then_cut", times=len(parts))
    for part in parts:
        with pytest.raises(OutcomeUncertain):
            await discord.send(part, 5.0)

    again = [await discord.send(part, 5.0) for part in parts]

    kept = await shown(sandbox)
    assert [one["message_id"] for one in kept] == [receipt.provider_id for receipt in again]
    assert len(kept) == len(parts) == 3


REFUSED: dict[str, tuple[type[Exception], str]] = {
    "10003": (ValidationError, "no such channel"),
    "50001": (ValidationError, "cannot see"),
    "50013": (ValidationError, "lacks the right"),
    "20016": (ProviderThrottled, "slow mode"),
    "user:50007": (ValidationError, "takes no direct messages"),
    "user:50278": (ValidationError, "shares no Discord server"),
    "user:50033": (ValidationError, "no such recipient"),
}


@pytest.mark.requirement("house:discord-refusals")
async def test_an_address_that_is_an_errors_number_is_that_error(discord: Discord) -> None:
    for address, (raises, said) in REFUSED.items():
        with pytest.raises(raises, match=said) as caught:
            await send(discord, address=address)
        assert type(caught.value) is raises
