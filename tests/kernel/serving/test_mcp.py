"""Floods of `initialize` against a running household."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest
from mcp.client import Client
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ElicitationCapability, InputRequiredResult, TextContent
from mcp_types.version import LATEST_MODERN_VERSION
from tests.architecture.tree import SOURCE, source_files
from tests.household.living import Living, living

from postroom.kernel.serving import REVISION
from postroom.kernel.serving.mcp import (
    keep_request_state,
    look_once_for_param_headers,
    takes_forms,
)

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


TESTED = ("2.3",)
INTERNAL = re.compile(
    r"_tool_manager|streamable_http_manager|session_manager\.app|fn_metadata|Tool\.from_function"
    r"|mcp\.(server\.(mcpserver\.(tools|utilities)|session|lowlevel)|shared\.inbound)\b"
)


def test_the_installed_version_is_one_these_tests_were_written_for() -> None:
    for package in ("mcp", "mcp-types"):
        installed = version(package)
        assert installed.startswith(tuple(f"{one}." for one in TESTED)), (
            f"{package} {installed} is installed, and postroom.kernel.serving.mcp was tested with {', '.join(TESTED)}: "
            "read what changed in the names it uses, run these tests, and add the version to TESTED."
        )


def test_only_one_chapter_touches_internals() -> None:
    touching = [path for path in source_files() if INTERNAL.search(path.read_text())]

    assert touching == [SOURCE / "kernel" / "serving" / "mcp.py"]


def test_the_parts_speak_the_revision_that_the_sdk_serves() -> None:
    assert REVISION == LATEST_MODERN_VERSION


def a_server() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("one")

    def double(number: int, times: int = 2) -> dict[str, int]:
        return {"number": number * times}

    server.add_tool(double)
    return server


def test_a_tool_that_declares_no_headers_has_no_schema_to_hold_them_against() -> None:
    server = a_server()
    server.streamable_http_app()
    before = server.session_manager.app.get_tool_input_schema
    look_once_for_param_headers(server)
    after = server.session_manager.app.get_tool_input_schema

    assert before is not None and after is not None
    assert before("double") is not None
    assert (after("double"), after("triple")) == (None, None)


async def test_the_state_of_a_call_is_understood_by_every_server_with_the_same_key() -> None:
    """And by none with another, or for another caller."""

    def server_of(key: bytes, whose: str) -> MCPServer[Any]:
        server: MCPServer[Any] = MCPServer("one")

        async def twice(call: Context[Any, Any]) -> CallToolResult | InputRequiredResult:
            if call.request_state is None:
                return InputRequiredResult(request_state="first")
            return CallToolResult(content=[TextContent(type="text", text=call.request_state)])

        server.add_tool(twice)
        keep_request_state(server, key, 60, lambda _context: whose)
        return server

    async with Client(server_of(b"k" * 32, "ann")) as client:
        first = await client.session.call_tool("twice", allow_input_required=True)
        assert isinstance(first, InputRequiredResult) and first.request_state != "first"
    for key, whose, is_known in ((b"k" * 32, "ann", True), (b"o" * 32, "ann", False), (b"k" * 32, "ben", False)):
        async with Client(server_of(key, whose)) as client:
            call = client.session.call_tool("twice", request_state=first.request_state)
            if is_known:
                assert cast(CallToolResult, await call).content[0] == TextContent(type="text", text="first")
            else:
                with pytest.raises(MCPError, match="requestState"):
                    await call


@pytest.mark.parametrize(
    ("able", "does"),
    [(None, False), ({}, True), ({"form": {}}, True), ({"form": {}, "url": {}}, True), ({"url": {}}, False)],
)
def test_a_client_takes_forms_when_it_says_so_in_the_old_or_the_new_way(able: Any, does: bool) -> None:
    said = None if able is None else ElicitationCapability.model_validate(able)
    assert takes_forms(said) is does
