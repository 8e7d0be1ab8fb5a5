"""The HTTP server: what it reads, and in which order it plays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import aiohttp
import pytest
from tests.patience import PATIENCE_SECONDS

from postroom.testing import HttpProvider, Reply, TakenRequest, Trouble, WebSocketProvider, raw_reply, reply
from postroom.testing.servers.http import after_early_hints, old_protocol, swollen, with_header


async def statuses(server: HttpProvider, *bodies: object) -> list[int]:
    found = []
    async with asyncio.timeout(PATIENCE_SECONDS), aiohttp.ClientSession() as session:
        for body in bodies:
            async with session.post(server.url + "/x", data=body, allow_redirects=False) as answer:
                found.append(answer.status)
                await answer.read()
    return found


async def test_one_step_for_each_message_and_the_last_again() -> None:
    async with HttpProvider(reply(201, {}), reply(202, {})) as server:
        assert await statuses(server, b"a", b"b", b"c") == [201, 202, 202]

    assert [one.content for one in server.messages] == [b"a", b"b", b"c"]
    assert server.connections == 1


async def test_a_body_in_chunks_is_read_whole() -> None:
    async def chunks():
        yield b"one "
        yield b"two"

    async with HttpProvider() as server:
        await statuses(server, chunks())

    assert server.messages[0].content == b"one two"
    assert server.messages[0].headers["transfer-encoding"] == "chunked"


async def test_what_is_no_message_is_answered_aside_and_not_counted() -> None:
    server = HttpProvider(reply(201, {}), aside=lambda one: reply(299, {}) if one.content == b"open" else None)
    async with server:
        assert await statuses(server, b"open", b"a") == [299, 201]

    assert (server.taken, server.asked_aside) == (1, 1)


async def test_a_step_that_comes_before_the_content_leaves_alone_what_is_no_message() -> None:
    def aside(one: TakenRequest) -> Reply | None:
        return reply(299, {}) if one.headers.get("x-aside") else None

    for step, ends_with in ((replace(reply(400, {}), early=True), [400]), (Trouble.RESET_BEFORE_READING, [])):
        async with (
            asyncio.timeout(PATIENCE_SECONDS),
            HttpProvider(step, aside=aside) as server,
            aiohttp.ClientSession() as session,
        ):
            async with session.post(server.url, data=b"open", headers={"X-Aside": "1"}) as answer:
                found = [answer.status]
            with suppress(aiohttp.ClientError):
                found += await statuses(server, b"a")
        assert (found, server.asked_aside) == ([299, *ends_with], 1)


async def test_a_redirect_leads_back_by_another_name() -> None:
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        HttpProvider(Trouble.REDIRECT, reply(201, {})) as server,
        aiohttp.ClientSession() as session,
        session.post(server.url, data=b"a") as answer,
    ):
        assert (answer.status, answer.url.host) == (201, "localhost")

    assert server.taken == 2


async def test_spoiled_answers_are_what_they_say() -> None:
    plain = reply(200, {"id": "1"})
    script = [with_header(plain, "X-More: yes"), after_early_hints(plain), swollen(plain, 1000), old_protocol(plain)]
    seen = []
    async with HttpProvider(*script) as server:
        for _ in script:
            async with (
                asyncio.timeout(PATIENCE_SECONDS),
                aiohttp.ClientSession() as session,
                session.post(server.url, data=b"a") as answer,
            ):
                seen.append((answer.headers.get("X-More"), len(await answer.read())))

    assert seen == [("yes", 11), (None, 11), (None, 1011), (None, 11)]


async def test_an_early_answer_is_there_before_the_body_is_read() -> None:
    early = raw_reply(413, b"")
    async with HttpProvider(type(early)(raw=early.raw, early=True)) as server:
        async with asyncio.timeout(PATIENCE_SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n")
            assert (await reader.readline()).startswith(b"HTTP/1.1 413")
            assert server.taken == 0
            writer.write(b"12345")
            await server.arrived.wait()
            writer.close()

    assert server.taken == 1


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
