"""Floods of `initialize` against a running household."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.app.living import Living, living

BOUNDS = {"serving": {"mcp_sessions": 6, "mcp_sessions_per_caller": 3}}
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "flood", "version": "1"}},
}


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Living]:
    async with living(tmp_path, BOUNDS, only=["health", "api", "switchboard", "messenger", "sandbox"]) as one:
        yield one


def url(house: Living, part: str) -> str:
    return house.household.addresses[part].removesuffix("/mcp") + "/mcp"


async def post(house: Living, part: str, token: str, body: dict[str, Any], session: str = "") -> aiohttp.ClientResponse:
    headers = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {token}"}
    if session:
        headers["Mcp-Session-Id"] = session
    async with house.http.post(url(house, part), json=body, headers=headers) as response:
        await response.read()
        return response


async def opened(house: Living, part: str, who: str, **able: Any) -> str:
    params = {**INITIALIZE["params"], "capabilities": able}
    response = await post(house, part, house.token(who), {**INITIALIZE, "params": params})
    assert response.status == 200
    return response.headers["Mcp-Session-Id"]


async def alive(house: Living, part: str, who: str, session: str) -> bool:
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    status = (await post(house, part, house.token(who), ping, session)).status
    assert status in (200, 404)
    return status == 200


@pytest.mark.parametrize("part", ["health", "api"])
async def test_one_caller_keeps_its_newest_sessions_and_nobody_is_refused(house: Living, part: str) -> None:
    sessions = [await opened(house, part, "operator") for _ in range(12)]

    assert [await alive(house, part, "operator", one) for one in sessions] == [False] * 9 + [True] * 3


async def test_the_one_least_recently_used_goes_first(house: Living) -> None:
    first, second, third = [await opened(house, "health", "operator") for _ in range(3)]
    assert await alive(house, "health", "operator", first)

    await opened(house, "health", "operator")

    assert [await alive(house, "health", "operator", one) for one in (first, second, third)] == [True, False, True]


async def test_a_flood_of_one_caller_leaves_the_sessions_of_another_alone(house: Living) -> None:
    mine = await opened(house, "health", "health")
    for _ in range(20):
        await opened(house, "health", "operator")

    assert await alive(house, "health", "health", mine)


async def test_all_callers_together_have_a_bound_too(house: Living) -> None:
    oldest = await opened(house, "api", "operator")
    for who in ("health", "switchboard", "messenger"):
        for _ in range(3):
            await opened(house, "api", who)

    assert not await alive(house, "api", "operator", oldest)


async def test_a_session_of_a_client_that_shows_forms_makes_room_for_others_too(house: Living) -> None:
    first = await opened(house, "api", "operator", elicitation={})
    assert await alive(house, "api", "operator", first)
    for who in ("health", "general", "health", "general", "health", "general"):
        await opened(house, "api", who)

    assert not await alive(house, "api", "operator", first)


async def test_without_a_token_no_session_is_opened(house: Living) -> None:
    mine = [await opened(house, "health", "operator") for _ in range(3)]

    for _ in range(20):
        refused = await post(house, "health", "wrong", INITIALIZE)
        assert refused.status == 401 and "Mcp-Session-Id" not in refused.headers

    assert all([await alive(house, "health", "operator", one) for one in mine])


async def test_a_session_that_its_client_has_ended_is_not_counted(house: Living) -> None:
    kept = await opened(house, "health", "operator")
    for _ in range(10):
        session = await opened(house, "health", "operator")
        headers = {"Authorization": f"Bearer {house.token('operator')}", "Mcp-Session-Id": session}
        async with house.http.delete(url(house, "health"), headers=headers) as response:
            assert response.status == 200

    assert await alive(house, "health", "operator", kept)
