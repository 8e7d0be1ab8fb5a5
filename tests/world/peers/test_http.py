"""A part in another process: every way it can fail has its own name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from tests.contract.pieces import Piecemeal
from tests.services.ports import free_port

from postroom.domain.errors import (
    DeliveryTimeout,
    InternalError,
    OutcomeUncertain,
    PostroomError,
    TargetUnavailable,
    ValidationError,
)
from postroom.world.peers.http import HttpPeer
from postroom.world.peers.single_call import call_once

Answer = Callable[[web.Request], Any]
Call = Callable[..., Awaitable[dict[str, Any]]]


@asynccontextmanager
async def part(answer: Answer) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/mcp", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
    finally:
        await runner.cleanup()


async def by_peer(url: str, timeout_seconds: float = 5.0) -> dict[str, Any]:
    peer = HttpPeer("messenger", url, "a-token")
    try:
        return await peer.call("route.execute", {"a": 1}, timeout_seconds)
    finally:
        await peer.close()


async def once(url: str, timeout_seconds: float = 5.0) -> dict[str, Any]:
    return await asyncio.to_thread(call_once, "messenger", url, "a-token", "route.execute", {"a": 1}, timeout_seconds)


@pytest.fixture(params=[by_peer, once], ids=["peer", "once"])
def call(request: pytest.FixtureRequest) -> Call:
    """How a part calls another, and how a command does."""
    caller: Call = request.param
    return caller


async def test_a_call_says_what_and_who_and_gets_the_structured_answer(call: Call) -> None:
    seen: list[tuple[Any, Any]] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append((request.headers.copy(), await request.json()))
        return web.json_response({"result": {"structuredContent": {"status": "ok"}}})

    async with part(answer) as url:
        assert await call(url) == {"status": "ok"}

    [(headers, body)] = seen
    assert (headers["Authorization"], headers["Mcp-Name"]) == ("Bearer a-token", "route.execute")
    assert (body["method"], body["params"]["name"], body["params"]["arguments"]) == (
        "tools/call",
        "route.execute",
        {"a": 1},
    )


@pytest.mark.parametrize("chunked", [False, True], ids=["with a length", "chunked"])
async def test_an_answer_that_arrives_in_pieces_is_read_whole(call: Call, chunked: bool) -> None:
    content = {"status": "ok", "words": "word " * 50}
    async with Piecemeal({"result": {"structuredContent": content}}, chunked=chunked) as server:
        assert await call(f"{server.url}/mcp") == content


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, {"error": "a valid bearer token is required"}, TargetUnavailable),
        (403, {"error": "no business here"}, TargetUnavailable),
        (200, {"error": {"code": -32600, "message": "may not"}}, ValidationError),
        (413, {"error": "the body is too large"}, ValidationError),
        (200, {"result": {"isError": True, "structuredContent": {}}}, InternalError),
        (200, {"result": {"content": []}}, InternalError),
        (200, {"result": None}, InternalError),
        (200, {"result": [1]}, InternalError),
        (200, {}, InternalError),
        (200, [], InternalError),
        (200, None, InternalError),
    ],
    ids=str,
)
async def test_an_answer_that_is_none_has_its_own_error(
    call: Call, status: int, body: Any, kind: type[PostroomError]
) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.json_response(body, status=status)

    async with part(answer) as url:
        with pytest.raises(kind):
            await call(url)


async def test_nobody_there_means_that_nothing_was_sent(call: Call) -> None:
    with pytest.raises(TargetUnavailable, match="messenger cannot be reached"):
        await call(f"http://127.0.0.1:{free_port()}/mcp")


async def test_one_that_breaks_off_may_have_done_it(call: Call) -> None:
    async def answer(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    async with part(answer) as url:
        with pytest.raises(OutcomeUncertain, match="broke off"):
            await call(url)


async def test_one_that_answers_with_a_page_may_have_done_it(call: Call) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text="<html>Bad Gateway</html>", content_type="text/html", status=502)

    async with part(answer) as url:
        with pytest.raises(OutcomeUncertain, match="broke off"):
            await call(url)


async def test_silence_ends_in_a_timeout(call: Call) -> None:
    silent = asyncio.Event()

    async def answer(_request: web.Request) -> web.Response:
        await silent.wait()
        return web.Response()

    async with part(answer) as url:
        with pytest.raises(DeliveryTimeout, match="did not answer in time"):
            await call(url, timeout_seconds=0.2)
        silent.set()


async def test_a_token_is_in_no_error_text() -> None:
    peer = HttpPeer("messenger", "http://127.0.0.1:1/mcp", "canary-token")

    with pytest.raises(TargetUnavailable) as caught:
        await peer.call("x", {}, 1)

    assert "canary" not in repr(caught.value) + repr(peer)
    await peer.close()


async def test_a_call_may_be_made_in_the_name_of_somebody_else() -> None:
    seen: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.json_response({"result": {"structuredContent": {}}})

    async with part(answer) as url:
        peer = HttpPeer("messenger", url, "a-token")
        await peer.call("approve_action", {}, 5, token="anns-token")
        await peer.call("approve_action", {}, 5)
        await peer.close()

    assert seen == ["Bearer anns-token", "Bearer a-token"]
