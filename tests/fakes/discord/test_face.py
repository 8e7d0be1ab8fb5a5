"""The person's side of the sandbox's Discord."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.fakes.discord.test_gateway import talking
from tests.fakes.discord.test_rest import ask, button, rows
from tests.sandbox.client import Client
from tests.sandbox.hand_clock import HandClock


async def card(client: Client, channel: str = "42") -> str:
    body = {"content": "Ship it?", "components": rows(button(), button(label="No", custom_id="b"))}
    number: str = (await ask(client, "POST", f"channels/{channel}/messages", body))[1]["id"]
    return number


async def press(client: Client, number: str, **more: Any) -> dict[str, Any]:
    return await client.post("/sandbox/discord/press", {"message_id": number, "button": "Yes"} | more)


async def callback(client: Client, told: dict[str, Any], body: dict[str, Any]) -> tuple[int, int | None]:
    path = f"interactions/{told['id']}/{told['token']}/callback"
    status, answer, _ = await ask(client, "POST", path, body, Authorization="")
    return status, answer.get("code")


async def test_a_press_is_told_and_its_answer_is_what_the_person_sees(client: Client) -> None:
    async with talking(client) as talk:
        await talk.ready(0)
        number = await card(client)
        pressing = asyncio.create_task(press(client, number, from_id=7))
        frame = await talk.hear()
        told = frame["d"]
        data = {"content": "Noted", "flags": 64}

        assert await callback(client, {**told, "token": "x"}, {"type": 6}) == (404, 10062)
        assert await callback(client, told, {"type": 99}) == (400, 50035)
        assert await callback(client, told, {"type": 4, "data": {"content": ""}}) == (400, 50006)
        assert await callback(client, told, {"type": 4, "data": data}) == (204, None)
        assert await callback(client, told, {"type": 6}) == (400, 40060)

    assert frame["t"] == "INTERACTION_CREATE"
    assert (told["type"], told["data"]) == (3, {"custom_id": "a", "component_type": 2})
    assert told["member"]["user"]["id"] == "7" and told["message"]["id"] == number and "user" not in told
    seen = (await pressing)["press"]
    assert (seen["answered"], seen["text"], seen["ephemeral"], seen["from_id"]) == (True, "Noted", True, "7")
    [kept] = (await client.get("/sandbox/discord/messages"))["messages"]
    assert kept["body"]["presses"] == [seen]


async def test_a_press_that_is_not_answered_in_three_seconds_fails_before_the_persons_eyes(
    client: Client, clock: HandClock
) -> None:
    async with talking(client) as talk:
        await talk.ready(0)
        pressing = asyncio.create_task(press(client, await card(client)))
        told = (await talk.hear())["d"]
        await clock.someone_waits()
        await clock.turn(3)
        seen = (await pressing)["press"]

        assert (seen["answered"], seen["text"]) == (False, "This interaction failed")
        assert await callback(client, told, {"type": 6}) == (404, 10062)


async def test_an_answer_for_all_stands_in_the_channel(client: Client) -> None:
    async with talking(client) as talk:
        await talk.ready(0)
        pressing = asyncio.create_task(press(client, await card(client)))
        told = (await talk.hear())["d"]
        await callback(client, told, {"type": 4, "data": {"content": "Ada said yes"}})
        await pressing

    texts = [one["text"] for one in (await client.get("/sandbox/discord/messages"))["messages"]]
    assert texts == ["Ship it?", "Ada said yes"]


async def test_in_a_direct_channel_the_person_needs_no_name(client: Client) -> None:
    async with talking(client) as talk:
        await talk.ready(0)
        channel = (await ask(client, "POST", "users/@me/channels", {"recipient_id": "7"}))[1]["id"]
        number = await card(client, channel)
        pressing = asyncio.create_task(press(client, number, place="user:7"))
        told = (await talk.hear())["d"]
        await callback(client, told, {"type": 6})
        await pressing

    assert (told["user"]["id"], told["context"], "member" in told) == ("7", 1, False)
    listed = await client.get("/sandbox/discord/messages", channel_id="user:7")
    assert [one["place"] for one in listed["messages"]] == [channel]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"place": "kitchen", "text": "x"}, "place"),
        ({"place": "user:x", "text": "x"}, "place"),
        ({"place": "42", "text": "x", "from_id": "ada"}, "from_id"),
        ({"place": "user:7", "text": "x", "from_id": "8"}, "from_id"),
        ({"place": "42", "text": "x", "reply_to_message_id": "1"}, "reply_to_message_id"),
    ],
)
async def test_what_no_person_could_do_is_refused(client: Client, body: dict[str, Any], field: str) -> None:
    answer = await client.post("/sandbox/discord/inbound", body)

    assert answer["http_status"] == 422
    assert [one["field"] for one in answer["error"]["fields"]] == [field]
    assert (await client.get("/sandbox/discord/inbound"))["count"] == 0
