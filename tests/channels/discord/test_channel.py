from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.channels.discord.fake_gateway import FakeDiscord

from postroom.channels.discord.channel import Discord
from postroom.kernel.values.errors import CredentialsRefused, ProviderThrottled, TargetUnavailable, ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.channel import Probe
from postroom.message.delivery import Intent, Message, Receipt, ReceiptKind
from postroom.message.markup import Revision

TOKEN = "abc.def.canary-token"


@pytest.fixture
async def provider() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as fake:
        yield fake


@pytest.fixture
async def channel(provider: FakeDiscord) -> AsyncIterator[Discord]:
    one = Discord("discord-home", TOKEN, provider.api)
    yield one
    await one.close()


async def send(channel: Discord, **changes: Any) -> list[Receipt]:
    given: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "42", "text": "Tea?"}
    return [await channel.send(part, 5.0) for part in channel.prepare(Message(**(given | changes)))]


def asked(provider: FakeDiscord) -> list[tuple[str, str]]:
    return [(method, path.removeprefix("/api/v10")) for method, path, _, _ in provider.requests]


async def test_a_request_says_who_we_are(provider: FakeDiscord, channel: Discord) -> None:
    provider.answers = [(200, {"id": "77", "channel_id": "42"})]

    assert await send(channel) == [Receipt("77", conversation="42")]
    [(method, path, headers, _)] = provider.requests
    assert (method, path) == ("POST", "/api/v10/channels/42/messages")
    assert headers["Authorization"] == f"Bot {TOKEN}"
    assert headers["User-Agent"].startswith("DiscordBot (https://")
    assert headers["Content-Type"] == "application/json"


@pytest.mark.requirement("house:discord-direct")
async def test_a_persons_channel_is_opened_once_and_named_in_the_receipt(
    provider: FakeDiscord, channel: Discord
) -> None:
    provider.answers = [(200, {"id": "55", "type": 1}), (200, {"id": "77"}), (200, {"id": "78"})]

    assert await send(channel, address="user:7") == [Receipt("77", conversation="55")]
    assert await send(channel, address="user:7") == [Receipt("78", conversation="55")]
    assert asked(provider) == [
        ("POST", "/users/@me/channels"),
        ("POST", "/channels/55/messages"),
        ("POST", "/channels/55/messages"),
    ]
    assert provider.requests[0][3] == {"recipient_id": "7"}


@pytest.mark.requirement("house:discord-direct")
async def test_an_edit_in_a_persons_channel_needs_no_question(provider: FakeDiscord, channel: Discord) -> None:
    provider.answers = [(200, {"id": "77"})]
    revises = Revision(delivery_id=DeliveryId("d0"), provider_ids=("77",), conversation="55")

    assert await send(channel, address="user:7", text="Closed", revises=revises) == [
        Receipt.of_change(ReceiptKind.EDIT, "55", "77", "55")
    ]
    assert asked(provider) == [("PATCH", "/channels/55/messages/77")]


@pytest.mark.parametrize(
    ("status", "told", "raises"),
    [
        (400, {"code": 50033, "message": "Invalid Recipient(s)"}, ValidationError),
        (403, {"code": 50007, "message": "no"}, ValidationError),
        (400, {"code": 40003, "message": "You are opening direct messages too fast"}, ProviderThrottled),
        (401, {"code": 0, "message": "401: Unauthorized"}, CredentialsRefused),
        (200, {"nothing": True}, TargetUnavailable),
    ],
)
async def test_a_person_who_cannot_be_reached_is_not_written_to(
    provider: FakeDiscord, channel: Discord, status: int, told: dict[str, Any], raises: type[Exception]
) -> None:
    provider.answers = [(status, told)]

    with pytest.raises(raises) as caught:
        await send(channel, address="user:7")
    assert type(caught.value) is raises
    assert asked(provider) == [("POST", "/users/@me/channels")]


async def test_a_channel_that_is_gone_is_asked_for_again(provider: FakeDiscord, channel: Discord) -> None:
    provider.answers = [(200, {"id": "55"}), (404, {"code": 10003}), (200, {"id": "56"}), (200, {"id": "77"})]

    with pytest.raises(ValidationError):
        await send(channel, address="user:7")
    assert await send(channel, address="user:7") == [Receipt("77", conversation="56")]


async def test_a_reaction_is_put(provider: FakeDiscord, channel: Discord) -> None:
    provider.answers = [(204, None)]

    assert await send(channel, intent=Intent.REACT, thread="77", emoji="👍", text="") == [
        Receipt.of_change(ReceiptKind.REACTION, "42", "77", "42")
    ]
    assert asked(provider) == [("PUT", "/channels/42/messages/77/reactions/%F0%9F%91%8D/@me")]


@pytest.mark.requirement("house:discord-presses")
async def test_a_press_is_answered_with_words_for_one_pair_of_eyes_or_none(
    provider: FakeDiscord, channel: Discord, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    provider.answers = [(204, None), (204, None), (404, {"code": 10062, "message": "Unknown interaction"})]

    assert await channel.answer_press("11:canary-press", "✅ *Yes*")
    assert await channel.answer_press("11:canary-press")
    assert not await channel.answer_press("11:canary-press", "late")

    assert [body for _, _, _, body in provider.requests][:2] == [
        {
            "type": 4,
            "data": {
                "content": r"✅ \*Yes\*",
                "flags": 64,
                "allowed_mentions": {"parse": [], "replied_user": False},
            },
        },
        {"type": 6},
    ]
    assert {path for _, path, _, _ in provider.requests} == {"/api/v10/interactions/11/canary-press/callback"}
    assert not any("Authorization" in headers for _, _, headers, _ in provider.requests)
    assert "canary-press" not in caplog.text


async def test_a_press_is_not_answered_where_no_one_is() -> None:
    channel = Discord("discord", TOKEN, "http://127.0.0.1:1/api/v10")

    assert not await channel.answer_press("11:x", "Yes")
    await channel.close()


async def test_a_message_is_taken_back_once_or_twice(provider: FakeDiscord, channel: Discord) -> None:
    provider.answers = [(204, None), (404, {"code": 10008}), (403, {"code": 50013})]

    gone = Revision(delivery_id=DeliveryId("d1"), provider_ids=("77",), conversation="55", deletes=True)

    told = [await send(channel, text="", revises=gone) for _ in range(2)]
    with pytest.raises(ValidationError, match="right"):
        await send(channel, text="", revises=gone)

    assert told == [[Receipt.of_change(ReceiptKind.DELETE, "55", "77", "55")]] * 2
    assert asked(provider)[0] == ("DELETE", "/channels/55/messages/77")


async def test_a_probe_says_who_we_are(provider: FakeDiscord, channel: Discord) -> None:
    provider.answers = [(200, {"id": "900", "username": "butler"}), (401, {"code": 0}), (403, {"code": 50001})]

    assert isinstance(channel, Probe)
    assert await channel.probe(5.0) == "@butler"
    with pytest.raises(TargetUnavailable, match="does not accept our bot token"):
        await channel.probe(5.0)
    with pytest.raises(TargetUnavailable):
        await channel.probe(5.0)
    assert asked(provider)[0] == ("GET", "/users/@me")


@pytest.mark.parametrize(
    ("token", "url", "said"),
    [
        ("", "https://discord.com/api/v10", "bot token is malformed"),
        ("a b", "https://discord.com/api/v10", "bot token is malformed"),
        ("Bot abc", "https://discord.com/api/v10", "without the word Bot"),
        ("abc", "discord.com/api/v10", "plain http"),
        ("abc", "https://me@discord.com/api/v10", "plain http"),
    ],
)
def test_malformed_credentials_are_refused_in_words(token: str, url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Discord("discord", token, url)


async def test_nothing_is_sent_where_discord_takes_no_more_until_it_does(provider: FakeDiscord) -> None:
    waited: list[float] = []

    async def rest(seconds: float) -> None:
        waited.append(seconds)

    channel = Discord("discord-home", TOKEN, provider.api, monotonic=lambda: 100.0 + sum(waited), rest=rest)
    provider.answers = [(200, {"id": "77"}), (200, {"id": "78"}), (200, {"id": "79"}), (200, {"id": "80"})]
    provider.limits = {"X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "1.5"}
    await send(channel)
    assert waited == []
    provider.limits = {"X-RateLimit-Remaining": "4", "X-RateLimit-Reset-After": "1.5"}
    await send(channel, address="43")  # another room has a limit of its own
    assert waited == []
    await send(channel)
    assert waited == [1.5]
    provider.limits = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "60"}
    await send(channel)
    with pytest.raises(ProviderThrottled) as refused:
        await send(channel)
    assert refused.value.retry_after_seconds == 60.0 and len(provider.requests) == 4
    await channel.close()
