"""The sandbox's control API from another process: heard, refused, or not there."""

from __future__ import annotations

import pytest
from tests.contract.pieces import Piecemeal

from postroom.domain.errors import TargetUnavailable, ValidationError
from postroom.programs.sandbox.server import Sandbox, SandboxOptions
from postroom.world.peers.sandbox import HttpSandboxDoor


async def test_what_is_typed_comes_back_in_the_listing() -> None:
    async with Sandbox(SandboxOptions(host="127.0.0.1", bot_api_port=0, smtp_port=0)) as sandbox:
        door = HttpSandboxDoor(f"http://127.0.0.1:{sandbox.bot_api_port}/sandbox/")

        await door.post("telegram/inbound", {"chat_id": "7", "text": "Hello"})

        assert [one["text"] for one in await door.messages("telegram/inbound?limit=5")] == ["Hello"]


async def test_a_refusal_says_what_is_wrong() -> None:
    async with Sandbox(SandboxOptions(host="127.0.0.1", bot_api_port=0, smtp_port=0)) as sandbox:
        door = HttpSandboxDoor(f"http://127.0.0.1:{sandbox.bot_api_port}/sandbox/")

        with pytest.raises(ValidationError, match="chat_id"):
            await door.post("telegram/inbound", {"chat_id": "no chat", "text": "Hello"})


async def test_a_listing_that_arrives_in_pieces_is_read_whole() -> None:
    found = [{"text": "word " * 50}]
    async with Piecemeal({"messages": found}) as sandbox:
        assert await HttpSandboxDoor(f"{sandbox.url}/sandbox/").messages("telegram/messages") == found


async def test_a_sandbox_that_is_not_there_is_not_available(free_port: int) -> None:
    with pytest.raises(TargetUnavailable):
        await HttpSandboxDoor(f"http://127.0.0.1:{free_port}/sandbox/").messages("telegram/messages")
