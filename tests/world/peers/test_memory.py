"""A part in the same process: MCP without a wire, with the same errors."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from postroom.domain.errors import DeliveryTimeout, InternalError, TargetUnavailable, ValidationError
from postroom.domain.principal import OPERATOR, Principal
from postroom.doors.guard.guarded_server import GuardedServer
from postroom.doors.guard.tool_policy import ToolPolicy, operator
from postroom.world.peers.memory import MemoryPeer


class Tokens:
    def verify(self, token: str) -> Principal | None:
        return OPERATOR if token == "good" else None


def server(hold: asyncio.Event | None = None) -> GuardedServer:
    rules = {"echo": operator, "fail": operator, "hang": operator}
    one = GuardedServer("part", ToolPolicy(rules, Tokens()))

    async def echo(word: str) -> dict[str, Any]:
        return {"word": word}

    async def fail() -> dict[str, Any]:
        raise RuntimeError("secret words")

    async def hang() -> dict[str, Any]:
        await (hold or asyncio.Event()).wait()
        return {}

    for tool in (echo, fail, hang):
        one.add_tool(tool)
    return one


async def test_a_tool_answers_with_its_structured_content() -> None:
    peer = MemoryPeer(server(), "good")
    await peer.connect()
    try:
        answers = await asyncio.gather(*(peer.call("echo", {"word": str(n)}, 5) for n in range(50)))
        assert answers == [{"word": str(n)} for n in range(50)]
    finally:
        await peer.close()


async def test_every_failure_has_its_own_name() -> None:
    peer = MemoryPeer(server(), "good")
    with pytest.raises(TargetUnavailable, match="part is not running"):
        await peer.call("echo", {}, 5)
    await peer.connect()
    try:
        with pytest.raises(InternalError) as caught:
            await peer.call("fail", {}, 5)
        assert "secret" not in caught.value.message
        with pytest.raises(InternalError):
            await peer.call("echo", {"word": 5, "wrong": 1}, 5)
        with pytest.raises(ValidationError, match="may not call unknown"):
            await peer.call("unknown", {}, 5)
        with pytest.raises(DeliveryTimeout):
            await peer.call("hang", {}, 0.05)
        assert await peer.call("echo", {"word": "still there"}, 5) == {"word": "still there"}
    finally:
        await peer.close()
    with pytest.raises(TargetUnavailable):
        await peer.call("echo", {"word": "x"}, 5)


@pytest.mark.parametrize("token", ["", "bad"])
async def test_inside_the_process_a_token_is_needed_too(token: str) -> None:
    peer = MemoryPeer(server(), token)
    await peer.connect()
    try:
        with pytest.raises(ValidationError, match="nobody may not call echo"):
            await peer.call("echo", {"word": "x"}, 5)
    finally:
        await peer.close()


async def test_a_call_may_be_made_in_the_name_of_somebody_else() -> None:
    peer = MemoryPeer(server(), "bad")
    await peer.connect()
    try:
        with pytest.raises(ValidationError):
            await peer.call("echo", {"word": "mine"}, 5)
        assert await peer.call("echo", {"word": "theirs"}, 5, token="good") == {"word": "theirs"}
    finally:
        await peer.close()
