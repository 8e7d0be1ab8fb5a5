from __future__ import annotations

import asyncio

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.world.channels.discord.fake_gateway import FakeDiscord

from postroom.domain.inbound_message import InboundMessage, Listened
from postroom.world.channels.discord import heard_events
from postroom.world.channels.discord.channel import Discord
from postroom.world.channels.discord.heard_events import HeardEvents


def event(number: int) -> InboundMessage:
    return InboundMessage(channel="discord", number=number, message_id=str(number), places=("55",))


def numbers(heard: Listened) -> list[int]:
    return [one.number for one in heard.events if isinstance(one, InboundMessage)]


def test_positions_grow_even_when_the_clock_stands_or_goes_back() -> None:
    times = iter([100, 100, 50])
    heard = HeardEvents(lambda: next(times))
    positions = []
    for number in range(3):
        heard.add(event(number))
        positions.append(heard.listened().position)

    assert positions == [101, 102, 103]


def test_only_what_was_handled_is_forgotten() -> None:
    heard = HeardEvents(lambda: 100)
    for number in range(3):
        heard.add(event(number))

    heard.handled_before(None)
    assert numbers(heard.listened()) == [0, 1, 2]
    heard.handled_before(102)
    assert numbers(heard.listened()) == [2]
    heard.handled_before(103)
    assert heard.listened() == Listened()


async def test_some_is_waited_for_again_once_all_is_handled() -> None:
    heard = HeardEvents(lambda: 100)
    heard.add(event(1))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await heard.some()
    heard.handled_before(heard.listened().position)

    waiting = asyncio.ensure_future(heard.some())
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()


@pytest.mark.requirement("house:discord-gateway")
async def test_what_there_is_no_room_for_comes_again_when_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heard_events, "MOST_WAITING", 1)
    async with asyncio.timeout(PATIENCE_SECONDS), FakeDiscord() as discord:
        channel = Discord("discord", "abc.def.ghi", discord.api)
        listening = asyncio.create_task(channel.listen(None, 10))
        line = await discord.line()
        await line.next(2)
        await line.ready(discord.resume_url)
        await line.message(1, s=2)
        await line.message(2, s=3)
        first = await listening
        line = await discord.line()
        resumed = (await line.next(6))["d"]
        second = asyncio.create_task(channel.listen(first.position, 10))
        await line.message(2, s=3)
        await line.dispatch("RESUMED", {}, s=4)

        assert (numbers(first), resumed["seq"]) == ([1], 2)
        assert numbers(await second) == [2]
        await channel.close()
