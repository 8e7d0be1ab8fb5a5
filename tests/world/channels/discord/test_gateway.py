"""The Gateway as Discord documents it: a session begins, is cut, is taken up again, and ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.world.channels.discord.fake_gateway import PATIENCE_SECONDS, FakeDiscord, Line

from postroom.domain.errors import TargetUnavailable
from postroom.domain.inbound_message import InboundMessage, Listened
from postroom.world.channels.discord.channel import Discord
from postroom.world.channels.discord.gateway import Gateway, GatewayNeeds
from postroom.world.channels.discord.gateway_session import GatewayStart

TOKEN = "abc.def.canary-token"
NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
Make = Callable[..., Discord]


class Hands:
    """A clock that stands until a test turns it."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
async def discord() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as fake:
        yield fake


@pytest.fixture
async def make(discord: FakeDiscord) -> AsyncIterator[Make]:
    made: list[Discord] = []

    def one(**options: Any) -> Discord:
        made.append(Discord("discord", TOKEN, discord.api, now=lambda: NOW, **({"dice": lambda: 0.5} | options)))
        return made[-1]

    yield one
    for channel in made:
        await channel.close()


async def soon(waiting: Awaitable[Listened]) -> Listened:
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await waiting


def texts(heard: Listened) -> list[str | None]:
    return [event.text for event in heard.events if isinstance(event, InboundMessage)]


async def begun(discord: FakeDiscord, channel: Discord) -> tuple[Line, asyncio.Task[Listened]]:
    """A listener in a session that has just begun."""
    listening = asyncio.create_task(channel.listen(None, PATIENCE_SECONDS))
    line = await discord.line()
    await line.next(2)
    await line.ready(discord.resume_url)
    return line, listening


async def test_a_session_begins_with_the_token_and_no_more_intents_than_needed(
    discord: FakeDiscord, make: Make
) -> None:
    for wants_content, intents in ((False, 1 << 9 | 1 << 12), (True, 1 << 9 | 1 << 12 | 1 << 15)):
        channel = make(message_content=wants_content)
        listening = asyncio.create_task(channel.listen(None, 0))
        line = await discord.line()
        identified = (await line.next(2))["d"]
        await line.ready(discord.resume_url)

        assert await soon(listening) == Listened()
        assert (identified["token"], identified["intents"]) == (TOKEN, intents)
        assert line.query == {"v": "10", "encoding": "json", "path": "/gateway"}


async def test_events_stay_until_they_are_acknowledged_and_positions_grow(discord: FakeDiscord, make: Make) -> None:
    channel = make()
    line, listening = await begun(discord, channel)
    await line.message(1, s=2)

    first = await soon(listening)
    again = await soon(channel.listen(None, 0))
    await line.message(2, s=3)
    second = await soon(channel.listen(first.position, PATIENCE_SECONDS))

    assert texts(first) == texts(again) == ["text 1"]
    assert texts(second) == ["text 2"]
    assert first.position is not None and second.position is not None and first.position < second.position
    assert first.position >= 1_772_366_400_000_000  # as microseconds since 1970, so they grow over a restart


async def test_a_position_from_the_future_is_gone_on_from(discord: FakeDiscord, make: Make) -> None:
    channel = make()
    line, listening = await begun(discord, channel)
    await line.message(1, s=2)
    await soon(listening)
    ahead = 9_000_000_000_000_000
    asked = asyncio.create_task(channel.listen(ahead, PATIENCE_SECONDS))
    await line.message(2, s=3)
    heard = await soon(asked)

    assert texts(heard) == ["text 2"]
    assert heard.position is not None and heard.position > ahead


@pytest.mark.requirement("house:discord-gateway")
async def test_a_cut_is_taken_up_again_at_once_with_the_last_event(discord: FakeDiscord, make: Make) -> None:
    channel = make()
    line, listening = await begun(discord, channel)
    await line.message(1, s=2)
    first = await soon(listening)
    listening = asyncio.create_task(channel.listen(first.position, PATIENCE_SECONDS))
    line.cut()

    line = await discord.line()
    resumed = (await line.next(6))["d"]
    await line.message(2, s=3)
    await line.dispatch("RESUMED", {}, s=4)

    assert texts(await soon(listening)) == ["text 2"]
    assert resumed == {"token": TOKEN, "session_id": "s1", "seq": 2}
    assert line.query == {"v": "10", "encoding": "json", "path": "/resume"}
    assert discord.starts == 1


async def test_a_request_to_reconnect_keeps_the_session(discord: FakeDiscord, make: Make) -> None:
    channel = make()
    line, listening = await begun(discord, channel)
    await line.send(7)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await line.closed.wait()
    assert line.socket.close_code == 4000  # after 1000 Discord would forget the session

    line = await discord.line()
    await line.next(6)
    await line.dispatch("RESUMED", {}, s=2)
    await line.message(1, s=3)

    assert texts(await soon(listening)) == ["text 1"]


async def test_a_session_discord_has_forgotten_begins_anew(discord: FakeDiscord, make: Make) -> None:
    channel = make()
    line, listening = await begun(discord, channel)
    line.cut()
    line = await discord.line()
    await line.next(6)
    await line.send(9, False)
    with pytest.raises(TargetUnavailable, match="ended the session"):
        await soon(listening)

    _, listening = await begun(discord, channel)
    listening.cancel()
    assert discord.starts == 2


async def test_a_session_that_may_be_resumed_is(discord: FakeDiscord, make: Make) -> None:
    channel = make()
    line, listening = await begun(discord, channel)
    await line.send(9, True)
    line = await discord.line()
    await line.next(6)
    await line.dispatch("RESUMED", {}, s=2)
    await line.message(1, s=3)

    assert texts(await soon(listening)) == ["text 1"]


@pytest.mark.parametrize(("code", "op"), [(4000, 6), (4008, 6), (4007, 2), (4009, 2), (1001, 6)])
async def test_a_close_code_says_whether_the_session_goes_on(
    discord: FakeDiscord, make: Make, code: int, op: int
) -> None:
    channel = make()
    line, listening = await begun(discord, channel)
    await line.socket.close(code=code)
    line = await discord.line()
    await line.next(op)
    listening.cancel()


@pytest.mark.parametrize(
    ("code", "said"), [(4004, "does not accept our bot token"), (4014, "Message Content Intent"), (4011, "sharding")]
)
async def test_a_bot_that_is_barred_says_why_and_does_not_knock_again_at_once(
    discord: FakeDiscord, make: Make, code: int, said: str
) -> None:
    hands = Hands()
    channel = make(monotonic=hands)
    listening = asyncio.create_task(channel.listen(None, PATIENCE_SECONDS))
    line = await discord.line()
    await line.next(2)
    await line.socket.close(code=code)

    with pytest.raises(TargetUnavailable, match=said) as caught:
        await soon(listening)
    with pytest.raises(TargetUnavailable, match=said):
        await soon(channel.listen(None, 0))
    assert TOKEN not in str(caught.value)
    assert discord.starts == 1

    hands.seconds += 301
    _, listening = await begun(discord, channel)
    listening.cancel()


async def test_starts_that_fail_are_followed_by_growing_pauses(discord: FakeDiscord, make: Make) -> None:
    hands = Hands()
    channel = make(monotonic=hands)
    for pause in (5, 10, 20):
        listening = asyncio.create_task(channel.listen(None, 0))
        line = await discord.line()
        await line.next(2)
        await line.send(9, False)
        with pytest.raises(TargetUnavailable):
            await soon(listening)
        hands.seconds += pause - 1
        with pytest.raises(TargetUnavailable, match="asked again in 1 s"):
            await soon(channel.listen(None, 0))
        hands.seconds += 1.5
    assert discord.starts == 3


async def test_the_last_sessions_of_the_day_are_not_used_up(discord: FakeDiscord, make: Make) -> None:
    discord.sessions_left = 12

    with pytest.raises(TargetUnavailable, match="only 12 more") as caught:
        await soon(make().listen(None, 0))
    assert caught.value.retry_after_seconds == 14_400.0


@pytest.mark.requirement("house:discord-gateway")
async def test_a_heartbeat_goes_on_while_events_are_handled(make: Make) -> None:
    async with FakeDiscord(heartbeat_seconds=0.02) as discord:
        channel = Discord("discord", TOKEN, discord.api, dice=lambda: 0.5)
        line, listening = await begun(discord, channel)
        await line.message(1, s=2)
        await soon(listening)
        beats = [await line.next(1) for _ in range(4)]  # nobody listens meanwhile
        await channel.close()

    assert beats[-1]["d"] == 2


async def test_a_heartbeat_that_is_asked_for_is_sent_at_once(discord: FakeDiscord, make: Make) -> None:
    line, listening = await begun(discord, make())
    await line.send(1)

    assert (await line.next(1))["d"] == 1
    listening.cancel()


async def test_a_connection_that_no_longer_answers_is_replaced() -> None:
    async with FakeDiscord(heartbeat_seconds=0.05) as discord:
        channel = Discord("discord", TOKEN, discord.api, dice=lambda: 0.5)
        line, listening = await begun(discord, channel)
        line.acknowledges = False
        other = await discord.line()
        await other.next(6)
        await other.dispatch("RESUMED", {}, s=2)
        await other.message(1, s=3)

        assert texts(await soon(listening)) == ["text 1"]
        await channel.close()


async def test_a_second_cut_within_one_look_is_told_and_the_next_look_resumes(discord: FakeDiscord, make: Make) -> None:
    channel = make()
    line, listening = await begun(discord, channel)
    line.cut()
    line = await discord.line()
    await line.next(6)
    line.cut()
    with pytest.raises(TargetUnavailable, match="gateway"):
        await soon(listening)

    listening = asyncio.create_task(channel.listen(None, PATIENCE_SECONDS))
    line = await discord.line()
    await line.next(6)
    await line.dispatch("RESUMED", {}, s=2)
    await line.message(1, s=3)
    assert texts(await soon(listening)) == ["text 1"]


async def test_an_address_without_encryption_is_not_given_the_token(discord: FakeDiscord) -> None:
    async def start(_: float) -> GatewayStart:
        return GatewayStart(url=f"ws://127.0.0.1:{discord.port}/gateway")

    gateway = Gateway(
        GatewayNeeds(
            token=TOKEN,
            intents=0,
            user_agent="test",
            secure=True,
            start=start,
            event=lambda *_: None,
            now_us=lambda: 0,
            dice=lambda: 0.0,
            monotonic=Hands(),
        )
    )
    with pytest.raises(TargetUnavailable, match="encrypted"):
        await gateway.listen(None, 0)
    await gateway.close()


async def test_nobody_at_the_gateway_is_unavailable_and_closing_says_goodbye(discord: FakeDiscord, make: Make) -> None:
    channel = make()
    line, listening = await begun(discord, channel)
    listening.cancel()
    await channel.close()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await line.closed.wait()

    assert line.socket.close_code == 1000
    away = Discord("discord", TOKEN, "http://127.0.0.1:1/api/v10")
    with pytest.raises(TargetUnavailable):
        await away.listen(None, 0)
    await away.close()
