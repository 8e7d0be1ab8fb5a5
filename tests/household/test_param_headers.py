"""Headers that repeat arguments: compared where a tool declares them, not looked for where it does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from pydantic import WithJsonSchema
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from postroom.household.wiring.ports import mcp_app
from postroom.kernel.guard.tools import GuardedServer, ToolPolicy, operator
from postroom.kernel.values.principal import OPERATOR, Principal

_meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Tokens:
    def verify(self, token: str) -> Principal | None:
        return OPERATOR if token == "good" else None


@pytest.fixture
def server() -> GuardedServer:
    one = GuardedServer("part", ToolPolicy({"plain": operator, "declaring": operator}, Tokens()))

    async def plain(region: str) -> dict[str, Any]:
        return {"region": region}

    async def declaring(
        region: Annotated[str, WithJsonSchema({"type": "string", "x-mcp-header": "Region"})],
    ) -> dict[str, Any]:
        return {"region": region}

    one.add_tool(plain)
    one.add_tool(declaring)
    return one


def app_of(server: GuardedServer) -> ASGIApp:
    return mcp_app(server, Tokens(), hosts=("testserver",), origins=(), allow=lambda _: True)


def call(app: ASGIApp, tool: str, header: str | None) -> int:
    headers = {
        "Authorization": "Bearer good",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
        **({"Mcp-Param-Region": header} if header else {}),
    }
    params = {"name": tool, "arguments": {"region": "eu"}, "_meta": _meta}
    with TestClient(app) as http:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return http.post("/mcp", json=body, headers=headers).status_code


@pytest.mark.parametrize(
    ("tool", "header", "status"),
    [
        ("declaring", "eu", 200),
        ("declaring", "us", 400),
        ("declaring", None, 400),
        ("plain", "us", 200),
        ("plain", None, 200),
    ],
)
def test_a_header_counts_for_the_tool_that_declares_it(
    server: GuardedServer, tool: str, header: str | None, status: int
) -> None:
    assert call(app_of(server), tool, header) == status


def test_the_framework_asks_us_for_the_schema_and_gets_one_only_where_it_matters(server: GuardedServer) -> None:
    """Fails when the framework no longer looks where we answer: then each call walks the whole schema again."""
    app, inner = app_of(server), server.session_manager.app
    answer = inner.get_tool_input_schema
    assert answer is not None
    assert (answer("plain"), answer("no such tool")) == (None, None)
    assert (answer("declaring") or {})["properties"]["region"]["x-mcp-header"] == "Region"

    asked: list[str] = []

    def listening(name: str) -> Mapping[str, Any] | None:
        asked.append(name)
        return answer(name)

    inner.get_tool_input_schema = listening
    assert call(app, "plain", None) == 200
    assert asked == ["plain"]
