"""What is told over the Gateway, by the shapes of Discord's documentation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.channels.discord.fake_gateway import PATIENCE_SECONDS, FakeDiscord, Line
from tests.patience import PATIENCE_SECONDS as PATIENCE_PATIENCE_SECONDS

from postroom.channels.discord import gateway as gateway_module
from postroom.channels.discord.channel import Discord
from postroom.channels.discord.gateway import Gateway, GatewayNeeds, GatewayStart, inbound_event
from postroom.channels.provider import HeardEvents
from postroom.kernel.values.errors import TargetUnavailable
from postroom.message.inbound import Flag, InboundEvent, InboundMessage, Listened, Press

BOT = "900"
ADA: dict[str, Any] = {"id": "7", "username": "ada", "discriminator": "0"}


def heard(**told: Any) -> InboundMessage | None:
    given = {"id": "1001", "channel_id": "55", "type": 0, "author": ADA, "content": "Hello", "mentions": []}
    event = inbound_event("discord", "MESSAGE_CREATE", given | told, BOT)
    assert event is None or isinstance(event, InboundMessage)
    return event


def pressed(**told: Any) -> InboundEvent | None:
    given = {
        "id": "2002",
        "application_id": "900",
        "type": 3,
        "token": "unique-interaction-token",
        "channel_id": "55",
        "channel": {"id": "55", "type": 1},
        "context": 1,
        "user": ADA,
        "data": {"custom_id": "q1:yes", "component_type": 2},
        "message": {"id": "1000", "channel_id": "55"},
    }
    return inbound_event("discord", "INTERACTION_CREATE", given | told, BOT)


def test_a_direct_message_is_from_a_person_alone_with_us() -> None:
    event = heard()

    assert event is not None
    assert (event.places, event.sender, event.text) == (("55", "user:7"), "user:7", "Hello")
    assert (event.alone, event.flags, event.replies_to) == (True, frozenset(), None)
    assert (event.number, event.message_id, event.thread_identity) == (1001, "1001", "55:1001")
    assert event.said_at_us == 1_420_070_400_000_000


def test_in_a_server_the_person_is_not_alone_and_our_name_before_their_words_is_left_out() -> None:
    event = heard(guild_id="3", content=f"<@{BOT}> yes, do <@{BOT}>")

    assert event is not None
    assert (event.places, event.sender, event.alone) == (("55",), "user:7", False)
    assert event.text == f"yes, do <@{BOT}>"


@pytest.mark.parametrize(
    ("told", "flags"),
    [
        ({"author": {**ADA, "bot": True}}, {Flag.BOT}),
        ({"webhook_id": "88", "author": {"id": "88", "username": "Ada"}}, {Flag.BOT}),
        ({"author": None}, {Flag.BOT}),
        ({"message_reference": {"type": 1, "message_id": "4", "channel_id": "5"}}, {Flag.FORWARDED}),
        ({"message_snapshots": [{"message": {}}]}, {Flag.FORWARDED}),
    ],
)
def test_bots_webhooks_and_forwards_are_marked_and_never_answer(told: dict[str, Any], flags: set[Flag]) -> None:
    event = heard(**told)

    assert event is not None
    assert event.flags == flags and event.author is None
    assert event.replies_to is None


def test_a_webhook_with_a_persons_number_is_not_that_person() -> None:
    event = heard(webhook_id="88", author=ADA)

    assert event is not None and event.sender is None and not event.alone


@pytest.mark.parametrize(
    "told",
    [
        {"author": {"id": BOT, "bot": True}},
        {"type": 7},
        {"type": 6, "message_reference": {"message_id": "1000"}},
        {"guild_id": "3", "content": ""},
        {"id": None},
        {"channel_id": "../x"},
    ],
    ids=["our own", "joined", "pinned", "hidden from us", "no id", "no channel"],
)
def test_what_no_one_said_to_us_is_not_heard(told: dict[str, Any]) -> None:
    assert heard(**told) is None


def test_a_press_in_a_server_is_by_the_member() -> None:
    event = pressed(user=None, member={"user": {"id": "8"}}, guild_id="3", context=0, channel={"id": "55", "type": 0})

    assert isinstance(event, Press)
    assert (event.sender, event.places) == ("user:8", ("55",))


def test_two_peoples_own_direct_channel_is_not_ours() -> None:
    event = pressed(context=2)

    assert isinstance(event, Press) and event.places == ("55",)


def test_a_press_by_a_bot_is_marked() -> None:
    event = pressed(user={**ADA, "bot": True})

    assert isinstance(event, Press) and event.sender is None and event.flags == {Flag.BOT}


@pytest.mark.parametrize(
    "told",
    [
        {"type": 2},
        {"data": {"custom_id": "q1:yes", "component_type": 3}},
        {"data": None},
        {"token": None},
        {"id": "x"},
        {"data": {"component_type": 2}},
    ],
)
def test_other_interactions_and_nonsense_are_not_presses(told: dict[str, Any]) -> None:
    assert pressed(**told) is None


@pytest.mark.parametrize("told", [None, [], "x", {}])
@pytest.mark.parametrize("name", ["MESSAGE_CREATE", "INTERACTION_CREATE", "GUILD_CREATE", None])
def test_nonsense_says_nothing(name: object, told: object) -> None:
    assert inbound_event("discord", name, told, BOT) is None


@pytest.mark.requirement("talk:groups")
@pytest.mark.parametrize(
    ("content", "addressed"),
    [(f"<@{BOT}> hi", True), (f"hi <@!{BOT}>", True), (f"<@{BOT}1> hi", False), ("hi", False)],
)
def test_in_a_server_it_is_written_to_us_when_it_names_us(content: str, addressed: bool) -> None:
    event = heard(guild_id="3", content=content)

    assert event is not None and event.addressed is addressed


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


@pytest.mark.requirement("house:discord-gateway")
async def test_what_there_is_no_room_for_comes_again_when_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_module, "MOST_WAITING", 1)
    async with asyncio.timeout(PATIENCE_PATIENCE_SECONDS), FakeDiscord() as discord:
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
