"""POSTROOM_URL and POSTROOM_TOKEN: the same commands against a household whose files are not here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.cli.command import postroom, postroom_beside
from tests.contract.pieces import Piecemeal
from tests.household.living import QUICK, Living, living
from tests.services.ports import free_port

from postroom.kernel.values.errors import (
    DeliveryTimeout,
    InternalError,
    OutcomeUncertain,
    PostroomError,
    TargetUnavailable,
    ValidationError,
)
from postroom.settings.peer import HttpPeer
from postroom.settings.reach import call_once

ON = {"approvals": {"enabled": True, "ask_owner": False}}


@pytest.fixture
async def there(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Living]:
    """Its home is another one than the command's, which stays empty."""
    async with living(tmp_path / "there", QUICK, ON) as household:
        monkeypatch.setenv("POSTROOM_URL", household.household.addresses["api"] + "/")
        monkeypatch.setenv("POSTROOM_TOKEN", household.token("health"))
        yield household


async def test_a_message_is_sent_explained_and_traced_with_a_butlers_token(there: Living, home: Path) -> None:
    sent = await postroom_beside("notify", "From far away", "--key", "once")
    again = json.loads((await postroom_beside("notify", "From far away", "--key", "once", "--json")).out)
    identifier = again["delivery"]["delivery_id"]
    why, trace = await postroom_beside("why", identifier), await postroom_beside("trace", identifier[:13])

    assert sent.code == 0 and identifier in sent.out
    assert await there.texts() == ["From far away"]
    assert why.out.startswith("It was delivered over telegram")
    assert "health → switchboard" in trace.out and f"delivery {identifier}" in trace.out
    assert list(home.iterdir()) == []


async def test_a_refusal_is_one_sentence_on_standard_error(there: Living) -> None:
    unknown = await postroom_beside("notify", "Hello", "--to", "Stranger")
    spoken = await postroom_beside("notify", "Hello", "--as", "general")
    nothing = await postroom_beside("why", "0000")
    approvals = await postroom_beside("approvals", "list")

    assert (unknown.code, unknown.out) == (1, "") and "known contact" in unknown.error
    assert spoken.code == 1 and "the token says who speaks" in spoken.error
    assert nothing.code == 1 and "Nothing of yours is known under '0000'" in nothing.error
    assert approvals.code == 1 and "403" in approvals.error and "may not" in approvals.error
    assert await there.texts() == []


async def test_who_may_decide_decides_from_another_machine(there: Living, monkeypatch: pytest.MonkeyPatch) -> None:
    first = (await there.notify(recipient="4242"))["action_id"]
    second = (await there.notify(recipient="4242", message="Again"))["action_id"]
    monkeypatch.setenv("POSTROOM_TOKEN", there.token("operator"))

    listed = await postroom_beside("approvals", "list")
    approved = await postroom_beside("approvals", "approve", first, "--yes")
    again = await postroom_beside("approvals", "approve", first[:-2], "--yes")
    rejected = await postroom_beside("approvals", "reject", second, "--reason", "not today")
    await there.settled()

    assert first in listed.out and second in listed.out
    assert (approved.code, again.code, rejected.code) == (0, 1, 0)
    assert "already approved" in again.error
    assert await there.texts() == ["Hello"]


async def test_a_home_on_the_command_line_means_this_machine(there: Living, tmp_path: Path) -> None:
    done = await postroom_beside("why", "01a1", "--home", str(tmp_path / "empty"))

    assert "no household has worked on it yet" in done.error


@pytest.mark.parametrize("command", [["notify", "x"], ["why", "01a1"], ["trace", "01a1"], ["approvals", "list"]])
def test_without_a_household_there_every_command_asks_whether_it_runs(
    home: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_URL", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("POSTROOM_TOKEN", "pr_butler_0123456789abcdef")

    done = postroom(*command)

    assert (done.code, done.out) == (1, "")
    assert "is the household running?" in done.error
    assert "0123456789abcdef" not in done.error


async def test_a_proxy_of_the_environment_never_sees_the_token(there: Living, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")

    assert (await postroom_beside("notify", "Straight there")).code == 0


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "does not answer as a household", id="page"),
        pytest.param(b"nonsense\r\n\r\n", "cannot be reached", id="no HTTP"),
        pytest.param(
            b"HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 2\r\n\r\n{}",
            "answered 307",
            id="redirection",
        ),
    ],
)
async def test_another_server_is_not_trusted(
    home: Path, answer: bytes, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        monkeypatch.setenv("POSTROOM_URL", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        monkeypatch.setenv("POSTROOM_TOKEN", "pr_butler_0123456789abcdef")
        done = await postroom_beside("why", "01a1")

    assert done.code == 1 and words in done.error


def test_a_url_without_a_token_is_only_this_households_own_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_URL", "https://postroom.example.org")

    assert "no household has worked on it yet" in postroom("why", "01a1").error


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
