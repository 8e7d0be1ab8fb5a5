"""The proxy does to a connection what it says, over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from chaos.proxy import Proxy, Toxic
from tests.patience import PATIENCE_SECONDS


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    """In front of a server that sends back what it gets."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1024):
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server, Proxy(server.sockets[0].getsockname()[1]) as proxy:
        yield proxy


async def say(proxy: Proxy, text: bytes, *, expect: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            writer.write(text)
            return await reader.readexactly(expect)
    finally:
        writer.close()


async def test_without_a_toxic_everything_passes(proxy: Proxy) -> None:
    assert await say(proxy, b"hello", expect=5) == b"hello"
    assert proxy.connections == 1


@pytest.mark.parametrize(
    "toxic",
    [
        Toxic(latency_seconds=0.01),
        Toxic(slice_bytes=1),
        Toxic(bytes_per_second=1_000.0, slice_bytes=2),
        Toxic(cut_after_bytes=100),
    ],
    ids=["late", "sliced", "slow", "not yet cut"],
)
async def test_a_bad_line_still_carries_every_byte(proxy: Proxy, toxic: Toxic) -> None:
    proxy.request = proxy.answer = toxic

    assert await say(proxy, b"hello", expect=5) == b"hello"


@pytest.mark.parametrize("way", ["request", "answer"])
async def test_a_line_is_cut_after_so_many_bytes(proxy: Proxy, way: str) -> None:
    setattr(proxy, way, Toxic(cut_after_bytes=3))

    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await say(proxy, b"hello", expect=5)


async def test_a_refused_connection_is_reset(proxy: Proxy) -> None:
    proxy.refuse = True

    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await say(proxy, b"hello", expect=5)


async def test_an_answer_can_be_replaced(proxy: Proxy) -> None:
    proxy.answer = Toxic(instead=b"no")

    assert await say(proxy, b"hello", expect=2) == b"no"


@pytest.mark.parametrize("way", ["request", "answer"])
async def test_a_black_hole_neither_answers_nor_closes(proxy: Proxy, way: str) -> None:
    setattr(proxy, way, Toxic(black_hole=True))
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(b"hello")

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await reader.read(1)
    writer.close()


async def test_a_frozen_connection_stays_so_and_a_new_one_works(proxy: Proxy) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(b"a")
    assert await reader.readexactly(1) == b"a"
    proxy.freeze()
    writer.write(b"b")

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await reader.read(1)
    assert await say(proxy, b"hello", expect=5) == b"hello"
    writer.close()


async def test_all_open_connections_can_be_broken_at_once(proxy: Proxy) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(b"a")
    await reader.readexactly(1)

    proxy.reset_all()

    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        async with asyncio.timeout(PATIENCE_SECONDS):
            await reader.readexactly(1)
    writer.close()
