"""The WebSocket server: what it says, hears, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from tests.patience import PATIENCE_SECONDS

from postroom.testing import WebSocketProvider, raw_reply


@asynccontextmanager
async def line(server: WebSocketProvider) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        server,
        aiohttp.ClientSession() as session,
        session.ws_connect(server.url, autoping=False) as opened,
    ):
        yield opened


async def test_it_says_its_opening_and_what_it_is_given_of_any_length() -> None:
    server = WebSocketProvider("hello", "again")
    async with line(server) as client:
        assert [await client.receive_str() for _ in range(2)] == ["hello", "again"]
        for text in ("x" * 125, "ü" * 300, "y" * 70_000):
            await server.say(text)
            assert await client.receive_str() == text


async def test_it_hears_texts_of_any_length_and_answers_pings() -> None:
    server = WebSocketProvider()
    async with line(server) as client:
        for text in ("x", "ü" * 300, "y" * 70_000):
            await client.send_str(text)
            assert await server.hear() == text
        await client.ping(b"now")
        answer = await client.receive()
        assert (answer.type, bytes(answer.data)) == (aiohttp.WSMsgType.PONG, b"now")


async def test_it_closes_with_a_code_and_notes_the_code_of_a_goodbye() -> None:
    server = WebSocketProvider()
    async with line(server) as client:
        await server.joined.wait()
        await server.end(4004, "no")
        closed = await client.receive()
        assert (closed.data, closed.extra) == (4004, "no")
        await server.parted.wait()
    assert server.closed_with == [1000]  # what this client says to any goodbye


async def test_a_cut_is_no_goodbye() -> None:
    server = WebSocketProvider()
    async with line(server) as client:
        await server.joined.wait()
        server.cut()
        assert (await client.receive()).type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)
    assert server.closed_with == []


async def test_it_can_refuse_to_begin() -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        async with line(WebSocketProvider(refusal=raw_reply(401, b"no"))):
            pass

    assert refused.value.status == 401
