"""The adapter and the sandbox's Discord, over real sockets: sent, answered, pressed, edited, cut off and killed."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from tests.fakes.server import Fakes
from tests.patience import PATIENCE_SECONDS

from postroom.channels.discord.channel import Discord
from postroom.kernel.values.errors import (
    OutcomeUncertain,
    ProviderFailed,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Intent, Message, Receipt
from postroom.message.inbound import InboundMessage, Listened, Press
from postroom.message.markup import Button, ButtonStyle, Markup, Revision

YES = Button(label="Yes", token="q1:yes", style=ButtonStyle.SUCCESS)
CARD = Markup(buttons=((YES, Button(label="No", token="q1:no"), Button(label="Open", url="https://home.example/q1")),))


@pytest.fixture
async def discord(sandbox: Fakes) -> AsyncIterator[Discord]:
    channel = Discord("discord", "sandbox.bot.token", f"{sandbox.bot_api_url}/api/v10")
    yield channel
    await channel.close()


def message(**changes: Any) -> Message:
    given: dict[str, Any] = {
        "delivery_id": DeliveryId("d1"),
        "intent": Intent.SEND,
        "address": "42",
        "text": "Ship it?",
    }
    return Message(**(given | changes))


async def send(discord: Discord, **changes: Any) -> list[Receipt]:
    return [await discord.send(part, 5.0) for part in discord.prepare(message(**changes))]


async def post(sandbox: Fakes, path: str, body: dict[str, Any]) -> dict[str, Any]:
    async with aiohttp.ClientSession() as http, http.post(f"{sandbox.bot_api_url}/sandbox/{path}", json=body) as answer:
        assert answer.status == 200, await answer.text()
        told: dict[str, Any] = await answer.json()
        return told


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


@asynccontextmanager
async def overhearing(sandbox: Fakes) -> AsyncIterator[Callable[[str], Awaitable[None]]]:
    """Another bot at the Gateway, to wait for what it is told."""
    url = f"{sandbox.bot_api_url}/discord/gateway?v=10&encoding=json"
    async with aiohttp.ClientSession() as http, http.ws_connect(url) as socket:
        await socket.send_json({"op": 2, "d": {"token": "other", "intents": 1 << 9, "properties": {}}})

        async def told(name: str) -> None:
            async with asyncio.timeout(60):
                while (await socket.receive_json())["t"] != name:
                    pass

        await told("READY")
        yield told


async def test_a_probe_and_a_message(sandbox: Fakes, discord: Discord) -> None:
    assert await discord.probe(5.0) == "@sandbox"
    [receipt] = await send(discord, text="*exactly* this @everyone")
    [kept] = await shown(sandbox)

    assert (
        (kept["message_id"], kept["place"]) == (receipt.provider_id, receipt.conversation) == (kept["message_id"], "42")
    )
    assert kept["text"] == r"\*exactly\* this \@everyone"
    assert kept["body"]["allowed_mentions"]["parse"] == []


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
    [kept] = await shown(sandbox, place="user:7")
    assert (kept["text"], kept["earlier_texts"], kept["buttons"]) == ("Answered: yes", ["Ship it?"], [])


async def test_a_reply_and_a_reaction_name_their_message(sandbox: Fakes, discord: Discord) -> None:
    wrote = await post(sandbox, "discord/inbound", {"channel_id": "42", "text": "Tea?", "from_id": "7"})
    number = wrote["message_id"]

    await send(discord, intent=Intent.REPLY, thread=number, text="On its way")
    await send(discord, intent=Intent.REACT, thread=number, emoji="👍", text="")
    await send(discord, delivery_id=DeliveryId("d2"), intent=Intent.REPLY, thread="999", text="To nothing")

    assert [(one["text"], one["thread"]) for one in await shown(sandbox)] == [
        ("On its way", number),
        ("To nothing", None),
    ]
    assert sandbox.faces["discord"].ledger.messages(from_person=True)[0].reactions == ("👍",)


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


async def test_a_press_without_words_leaves_no_trace_and_the_card_is_closed_by_an_edit(
    sandbox: Fakes, discord: Discord
) -> None:
    await discord.listen(None, 0)
    [receipt] = await send(discord, address="user:7", markup=CARD)
    pressing = asyncio.create_task(
        post(sandbox, "discord/press", {"message_id": receipt.provider_id, "button": "q1:no"})
    )
    press = await one_event(discord)
    assert isinstance(press, Press) and press.places == (receipt.conversation, "user:7")
    assert await discord.answer_press(press.callback_id)
    assert (await pressing)["press"]["text"] is None

    ticked = Markup(buttons=((Button(label="☑ Yes", token="q1:yes"),),))
    revises = Revision(
        delivery_id=DeliveryId("d1"), provider_ids=(receipt.provider_id,), conversation=receipt.conversation
    )
    await send(discord, address="user:7", text="", markup=ticked, revises=revises)
    [kept] = await shown(sandbox)
    assert (kept["text"], [one["label"] for one in kept["buttons"]]) == ("Ship it?", ["☑ Yes"])


async def arm(sandbox: Fakes, **fault: Any) -> None:
    await post(sandbox, "faults", {"channel": "discord", **fault})


@pytest.mark.requirement("house:discord-key")
async def test_cut_after_it_was_taken_and_sent_again_it_stands_there_once(sandbox: Fakes, discord: Discord) -> None:
    parts = discord.prepare(message(text="word " * 900, address="user:7"))
    await arm(sandbox, mode="accept_then_cut", times=len(parts))
    for part in parts:
        with pytest.raises(OutcomeUncertain):
            await discord.send(part, 5.0)

    again = [await discord.send(part, 5.0) for part in parts]

    kept = await shown(sandbox)
    assert [one["message_id"] for one in kept] == [receipt.provider_id for receipt in again]
    assert len(kept) == len(parts) == 3


_KILLED = """
import asyncio, sys
from postroom.message.delivery import Intent, Message
from postroom.channels.discord.channel import Discord

async def main():
    discord = Discord("discord", "sandbox.bot.token", sys.argv[1])
    [part] = discord.prepare(Message(delivery_id="d1", intent=Intent.SEND, address="42", text="Ship it?"))
    await discord.send(part, 60.0)

asyncio.run(main())
"""


@pytest.mark.requirement("house:discord-key")
async def test_killed_before_the_answer_and_sent_again_it_stands_there_once(sandbox: Fakes, discord: Discord) -> None:
    await arm(sandbox, delay_seconds=60)
    async with overhearing(sandbox) as told:
        killed = await asyncio.create_subprocess_exec(sys.executable, "-c", _KILLED, f"{sandbox.bot_api_url}/api/v10")
        await told("MESSAGE_CREATE")
        killed.send_signal(signal.SIGKILL)
        await killed.wait()
    before = await shown(sandbox)

    [receipt] = await send(discord)

    [kept] = await shown(sandbox)
    assert kept["message_id"] == receipt.provider_id == before[0]["message_id"]


async def test_an_edit_that_was_cut_off_is_made_and_may_be_made_again(sandbox: Fakes, discord: Discord) -> None:
    [receipt] = await send(discord)
    revises = Revision(delivery_id=DeliveryId("d1"), provider_ids=(receipt.provider_id,), conversation="42")
    await arm(sandbox, mode="accept_then_cut")
    with pytest.raises(OutcomeUncertain):
        await send(discord, text="Closed", revises=revises)
    await send(discord, text="Closed", revises=revises)

    [kept] = await shown(sandbox)
    assert (kept["text"], kept["earlier_texts"]) == ("Closed", ["Ship it?"])


@pytest.mark.parametrize(
    ("fault", "raises", "wait"),
    [
        ({"status": 429, "retry_after": 3}, ProviderThrottled, 3.0),
        ({"status": 401}, TargetUnavailable, None),
        ({"status": 400}, ValidationError, None),
        ({"status": 502}, ProviderFailed, None),
        ({"status": 503}, TargetUnavailable, None),
        ({"mode": "refuse"}, OutcomeUncertain, None),
    ],
    ids=str,
)
async def test_a_fault_is_met_as_discord_shows_it(
    sandbox: Fakes, discord: Discord, fault: dict[str, Any], raises: type[Exception], wait: float | None
) -> None:
    await arm(sandbox, **fault)

    with pytest.raises(raises) as caught:
        await send(discord)
    assert getattr(caught.value, "retry_after_seconds", None) == wait
    assert await shown(sandbox) == []


@pytest.mark.parametrize(
    ("address", "raises", "said"),
    [
        ("10003", ValidationError, "no such channel"),
        ("50001", ValidationError, "cannot see"),
        ("50013", ValidationError, "lacks the right"),
        ("20016", ProviderThrottled, "slow mode"),
        ("user:50007", ValidationError, "takes no direct messages"),
        ("user:50278", ValidationError, "shares no Discord server"),
        ("user:50033", ValidationError, "no such recipient"),
    ],
)
@pytest.mark.requirement("house:discord-refusals")
async def test_an_address_that_is_an_errors_number_is_that_error(
    discord: Discord, address: str, raises: type[Exception], said: str
) -> None:
    with pytest.raises(raises, match=said) as caught:
        await send(discord, address=address)
    assert type(caught.value) is raises


async def test_a_token_that_was_taken_back_is_refused_everywhere(sandbox: Fakes) -> None:
    channel = Discord("discord", "revoked", f"{sandbox.bot_api_url}/api/v10")
    for act in (send(channel), channel.probe(5.0), channel.listen(None, 0)):
        with pytest.raises(TargetUnavailable, match="does not accept our bot token"):
            await act
    await channel.close()


@pytest.mark.requirement("house:discord-gateway")
async def test_what_people_did_while_the_connection_was_cut_is_heard_in_order_once(
    sandbox: Fakes, discord: Discord
) -> None:
    heard = await discord.listen(None, 0)
    face = sandbox.faces["discord"]
    [session] = face._sessions._sessions.values()  # type: ignore[attr-defined]
    session.socket._req.transport.abort()
    for number in range(3):
        await post(sandbox, "discord/inbound", {"place": "user:7", "text": f"text {number}"})

    texts: list[str | None] = []
    while len(texts) < 3:
        heard = await listened(discord, heard.position)
        texts += [one.text for one in heard.events if isinstance(one, InboundMessage)]
    assert texts == ["text 0", "text 1", "text 2"]
    assert await discord.listen(heard.position, 0) == Listened()


async def test_a_message_is_taken_back(sandbox: Fakes, discord: Discord) -> None:
    [receipt] = await send(discord)

    gone = Revision(
        delivery_id=DeliveryId("d1"),
        provider_ids=(receipt.provider_id,),
        conversation=receipt.conversation,
        deletes=True,
    )
    for _ in range(2):
        await send(discord, text="", revises=gone)

    [kept] = await shown(sandbox)
    assert kept["deleted"]
    with pytest.raises(ValidationError, match="is gone"):
        await send(discord)  # the same key: it was sent, and it was taken back
