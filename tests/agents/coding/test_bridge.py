"""A client that starts programs reaches the household's tools through the bridge."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from tests.household.living import LIFTED, QUICK, living
from tests.services.ports import free_port

from postroom.kernel.values.principal import Principal, Role
from postroom.settings.connections import changing

PATIENCE = 30
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


def join(home: Path, url: str, token: str) -> None:
    with changing(home) as document:
        document["programs"]["claude"] = {"url": url, "token": token}


def command(home: Path) -> list[str]:
    return ["-m", "postroom", "bridge", "claude", "--home", str(home)]


class Talk:
    """Lines in, lines out."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def say(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        await self._process.stdin.drain()

    async def heard(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            heard: dict[str, Any] = json.loads(await self._process.stdout.readline())
            return heard


@asynccontextmanager
async def talking(home: Path) -> AsyncIterator[Talk]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command(home), stdin=pipe, stdout=pipe, limit=10_000_000
    )
    try:
        yield Talk(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(PATIENCE):
            assert await process.wait() == 0


@pytest.mark.requirement("connect:bridge")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_an_mcp_client_asks_and_waits_through_the_bridge(home: Path, mode: str) -> None:
    async with living(home, QUICK, LIFTED) as there:
        token = there.tokens.create(Principal(Role.PROGRAM, "claude", person="owner"))
        join(home, there.household.addresses["api"], token)
        server = StdioServerParameters(command=sys.executable, args=command(home))
        progress: list[float] = []

        async def note(done: float, _total: float | None, _message: str | None) -> None:
            progress.append(done)

        async with asyncio.timeout(PATIENCE), Client(stdio_client(server), mode=mode) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            asked = await client.call_tool(
                "ask", {"question": "Ship it? é", "options": ["yes", "no"], "wait_seconds": 0}, progress_callback=note
            )
            found = asked.structured_content or {}
            waiting = asyncio.create_task(client.call_tool("wait", {"ask_id": found["ask_id"], "wait_seconds": 20}))
            headers = {"Authorization": f"Bearer {there.token('operator')}"}
            url = f"{there.household.addresses['api']}/v1/asks/{found['ask_id']}/answer"
            async with there.http.post(url, json={"value": "yes"}, headers=headers) as response:
                assert response.status == 200
            ended = (await waiting).structured_content or {}

    assert {"ask", "wait", "answers", "cancel_ask"} <= tools
    assert found["status"] == "open" and ended["status"] == "answered" and ended["answer"]["value"] == "yes"


@pytest.mark.requirement("connect:bridge")
async def test_the_session_goes_on_when_the_household_restarts(home: Path) -> None:
    port = free_port()
    fixed = {"ports": {"api": port}}
    async with living(home, QUICK, LIFTED, fixed) as there:
        token = there.tokens.create(Principal(Role.PROGRAM, "claude", person="owner"))
        join(home, f"http://127.0.0.1:{port}", token)
    async with talking(home) as talk:
        async with living(home, QUICK, LIFTED, fixed):
            await talk.say(HELLO)
            assert (await talk.heard())["result"]["serverInfo"]["name"] == "postroom"
            await talk.say({"method": "notifications/initialized"})
            await talk.say({"id": 2, "method": "tools/list"})
            assert (await talk.heard())["result"]["tools"]
        await talk.say({"id": 3, "method": "tools/list"})
        assert "does not answer" in (await talk.heard())["error"]["message"]
        async with living(home, QUICK, LIFTED, fixed):
            await talk.say({"id": "four", "method": "tools/list"})
            heard = await talk.heard()
            assert heard["id"] == "four" and heard["result"]["tools"]


@pytest.mark.requirement("connect:bridge-answers")
async def test_a_token_that_is_not_valid_is_said_to_the_client(home: Path) -> None:
    async with living(home, QUICK) as there:
        join(home, there.household.addresses["api"], "pr_program_0123456789abcdef")
        async with talking(home) as talk:
            await talk.say(HELLO)
            heard = await talk.heard()

    assert heard["id"] == 1 and "does not know this token" in heard["error"]["message"]


@pytest.mark.requirement("connect:bridge-answers")
async def test_a_wait_that_is_cancelled_ends_and_the_question_does_not(home: Path) -> None:
    async with living(home, QUICK, LIFTED) as there:
        token = there.tokens.create(Principal(Role.PROGRAM, "claude", person="owner"))
        join(home, there.household.addresses["api"], token)
        async with talking(home) as talk:
            await talk.say(HELLO)
            await talk.heard()
            await talk.say({"method": "notifications/initialized"})
            await talk.say(_ask(2, 0))
            ask_id = (await talk.heard())["result"]["structuredContent"]["ask_id"]
            wait = {"name": "wait", "arguments": {"ask_id": ask_id, "wait_seconds": 200}}
            await talk.say({"id": 3, "method": "tools/call", "params": wait})
            await talk.say({"method": "notifications/cancelled", "params": {"requestId": 3}})
            await talk.say(_ask(4, 0))
            again = await talk.heard()

    assert again["id"] == 4 and again["result"]["structuredContent"]["status"] == "open"


def _ask(identifier: int, wait: int) -> dict[str, Any]:
    arguments = {"question": "Ship it?", "options": ["yes", "no"], "wait_seconds": wait}
    return {"id": identifier, "method": "tools/call", "params": {"name": "ask", "arguments": arguments}}
