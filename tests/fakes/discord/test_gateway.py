"""The sandbox's Gateway, spoken to frame by frame."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.patience import PATIENCE_SECONDS
from tests.sandbox.client import Client
from tests.sandbox.hand_clock import HandClock

DIRECT, SERVER, CONTENT = 1 << 12, 1 << 9, 1 << 15
TOKEN = "some.bot.token"
BOT_ID = "900000000000000001"


class Talk:
    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def say(self, op: int, d: Any) -> None:
        await self.socket.send_str(json.dumps({"op": op, "d": d}))

    async def hear(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_SECONDS):
            frame: dict[str, Any] = json.loads(await self.socket.receive_str())
            return frame

    async def closed(self) -> int | None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await self.socket.receive()).type is aiohttp.WSMsgType.TEXT:
                pass
        return self.socket.close_code

    async def ready(self, intents: int = DIRECT | SERVER) -> dict[str, Any]:
        await self.say(2, {"token": TOKEN, "intents": intents, "properties": {}})
        return await self.hear()


@asynccontextmanager
async def talking(client: Client, query: str = "?v=10&encoding=json") -> AsyncIterator[Talk]:
    async with client.http.ws_connect(f"/discord/gateway{query}") as socket:
        talk = Talk(socket)
        assert (await talk.hear())["op"] == 10
        yield talk


async def write(client: Client, text: str, **more: Any) -> None:
    answer = await client.post("/sandbox/discord/inbound", {"place": "user:7", "text": text} | more)
    assert answer["http_status"] == 200, answer


async def test_a_bot_is_let_in_and_told_what_people_write(client: Client) -> None:
    async with talking(client) as talk:
        ready = await talk.ready()
        await talk.say(1, ready["s"])
        assert (await talk.hear())["op"] == 11
        await write(client, "Hello")
        told = await talk.hear()

    assert (ready["t"], ready["s"], ready["d"]["user"]["id"]) == ("READY", 1, BOT_ID)
    assert (told["t"], told["s"]) == ("MESSAGE_CREATE", 2)
    assert (told["d"]["content"], told["d"]["author"]["id"], "guild_id" in told["d"]) == ("Hello", "7", False)


async def test_a_bot_hears_only_what_its_intents_allow(client: Client) -> None:
    async with talking(client) as direct, talking(client) as server, talking(client) as everything:
        await direct.ready(DIRECT)
        await server.ready(SERVER)
        await everything.ready(SERVER | CONTENT)
        await write(client, "hidden", place="42")
        await write(client, f"<@{BOT_ID}> shown", place="42")
        await write(client, "direct")

        assert [(await server.hear())["d"]["content"] for _ in range(2)] == ["", f"<@{BOT_ID}> shown"]
        assert (await everything.hear())["d"]["content"] == "hidden"
        assert (await direct.hear())["d"]["content"] == "direct"


async def test_a_bot_that_comes_back_is_told_what_it_missed(client: Client) -> None:
    async with talking(client) as talk:
        ready = await talk.ready()
        await write(client, "first")
        last = (await talk.hear())["s"]
        await talk.socket.close(code=4000)
    await write(client, "second")
    await write(client, "third")

    async with talking(client) as talk:
        await talk.say(6, {"token": TOKEN, "session_id": ready["d"]["session_id"], "seq": last})
        frames = [await talk.hear() for _ in range(3)]

    assert [(one["t"], one["s"]) for one in frames] == [
        ("MESSAGE_CREATE", 3),
        ("MESSAGE_CREATE", 4),
        ("RESUMED", 5),
    ]


@pytest.mark.parametrize("ending", ["goodbye", "too late", "another token"])
async def test_a_session_that_is_over_is_not_taken_up_again(client: Client, clock: HandClock, ending: str) -> None:
    async with talking(client) as talk:
        ready = await talk.ready()
        await talk.socket.close(code=1000 if ending == "goodbye" else 4000)
    if ending == "too late":
        await write(client, "so that the sandbox has seen it go")
        await clock.turn(181)
    token = "other.bot.token" if ending == "another token" else TOKEN

    async with talking(client) as talk:
        await talk.say(6, {"token": token, "session_id": ready["d"]["session_id"], "seq": 1})
        assert await talk.hear() == {"op": 9, "d": False, "s": None, "t": None}


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ({"op": 2, "d": {"token": "revoked", "intents": 0}}, 4004),
        ({"op": 2, "d": {"token": TOKEN}}, 4013),
        ({"op": 3, "d": {}}, 4003),
        ({"op": 77}, 4001),
        ([], 4002),
        ({"op": 1, "d": "x" * 5000}, 4002),
    ],
)
async def test_a_client_that_errs_is_told_by_the_code(client: Client, frame: Any, code: int) -> None:
    async with talking(client) as talk:
        await talk.socket.send_str(json.dumps(frame))
        assert await talk.closed() == code


async def test_another_version_and_a_second_identify_are_refused(client: Client) -> None:
    async with talking(client, "?v=9") as talk:
        assert await talk.closed() == 4012
    async with talking(client) as talk:
        ready = await talk.ready()
        await talk.say(2, {"token": TOKEN, "intents": 0})
        assert await talk.closed() == 4005
    async with talking(client) as talk:
        await talk.say(6, {"token": TOKEN, "session_id": ready["d"]["session_id"], "seq": 99})
        assert await talk.closed() == 4007


async def test_a_sandbox_that_stops_ends_its_conversations(client: Client) -> None:
    async with talking(client) as talk:
        await talk.ready()
        stopping = asyncio.create_task(client.sandbox.stop())
        assert await talk.closed() == 1001
        async with asyncio.timeout(PATIENCE_SECONDS):
            await stopping
