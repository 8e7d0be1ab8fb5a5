"""The same household as four processes that speak MCP over HTTP."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from postroom.kernel.values.errors import TargetUnavailable
from postroom.settings.reach import HttpPeer
from tests.household.processes import environment, part, parts

GROUPS = (["sandbox"], ["switchboard"], ["messenger"], ["general", "health"])


def butler(variables: dict[str, str], home: Path, name: str) -> HttpPeer:
    token = json.loads((home / "tokens.json").read_text())["butlers"][name]
    port = variables[f"POSTROOM_PORTS__{name.upper()}"]
    return HttpPeer(name, f"http://127.0.0.1:{port}/mcp", token)


async def notify_until(peer: HttpPeer, wanted: str) -> dict[str, Any]:
    """Parts find each other by and by; a refusal in the meantime is an honest answer."""
    async with asyncio.timeout(60):
        while True:
            arguments = {"channel": "telegram", "message": "Hello", "idempotency_key": "hello"}
            answer = await peer.call("notify", arguments, 30)
            if answer["status"] == wanted:
                return answer
            assert answer["retryable"], answer


async def received(variables: dict[str, str]) -> list[str]:
    url = f"http://127.0.0.1:{variables['POSTROOM_PORTS__SANDBOX']}/sandbox/telegram/messages"
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return [message["text"] for message in (await response.json())["messages"]]


@pytest.mark.timeout(180)
@pytest.mark.requirement("notify:notify-routed-through-switchboard", "notify:messenger-routing-via-switchboard")
async def test_four_processes_deliver_one_message_once(home: Path) -> None:
    variables = environment(home)

    with parts(variables, GROUPS):
        peer = butler(variables, home, "health")
        answer = await notify_until(peer, "ok")
        again = await peer.call("notify", {"channel": "telegram", "message": "Hello", "idempotency_key": "hello"}, 30)
        status = await peer.call("notify_status", {"delivery_id": answer["delivery"]["delivery_id"]}, 30)
        await peer.close()

        assert (status["status"], status["delivery"]["attempts"]) == ("ok", 1)
        assert again["delivery"]["delivery_id"] == answer["delivery"]["delivery_id"]
        assert await received(variables) == ["Hello"]


@pytest.mark.timeout(180)
async def test_a_switchboard_that_is_down_is_named_and_nothing_is_half_sent(home: Path) -> None:
    variables = environment(home)

    with part(variables, "health"):
        peer = butler(variables, home, "health")
        answer = await peer.call("notify", {"channel": "telegram", "message": "x"}, 30)
        await peer.close()

    assert (answer["status"], answer["error_class"], answer["retryable"]) == ("error", "target_unavailable", True)
    assert "switchboard" in answer["error"]["message"]


@pytest.mark.timeout(180)
async def test_a_messenger_that_is_down_is_an_error_until_it_is_back(home: Path) -> None:
    variables = environment(home)

    with parts(variables, (["sandbox"], ["switchboard"], ["health"])):
        peer = butler(variables, home, "health")
        refused = await peer.call("notify", {"channel": "telegram", "message": "x"}, 30)
        assert (refused["error_class"], refused["retryable"]) == ("target_unavailable", True)
        with part(variables, "messenger"):
            await notify_until_registered(peer)
            assert await received(variables) == ["Hello"]
        with pytest.raises(TargetUnavailable):
            await butler(variables, home, "messenger").call("status", {}, 5)
        away = await peer.call("notify", {"channel": "telegram", "message": "y"}, 30)
        await peer.close()

    assert (away["error_class"], away["retryable"]) == ("target_unavailable", True)


async def notify_until_registered(peer: HttpPeer) -> None:
    async with asyncio.timeout(60):
        while True:
            arguments = {"channel": "telegram", "message": "Hello", "idempotency_key": "hello"}
            if (await peer.call("notify", arguments, 30))["status"] == "ok":
                return
