"""Every door may add its tools to the assistants' server, and a tool without a rule is nobody's."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError

from postroom.household.wiring.intents import assistant_server
from postroom.kernel.guard.tools import Rule, person
from postroom.kernel.values.principal import TOKEN_META, Principal, Role


class Known:
    def verify(self, token: str) -> Principal | None:
        return Principal(Role.USER, token) if token == "ada" else None


def add_one(server: MCPServer[Any]) -> dict[str, Rule]:
    server.add_tool(lambda: {"from": "one"}, name="one")
    return {"one": person}


def add_another_and_forget_its_rule(server: MCPServer[Any]) -> dict[str, Rule]:
    server.add_tool(lambda: {"from": "another"}, name="another")
    return {}


async def test_tools_of_all_doors_are_there_and_only_those_with_a_rule_can_be_called() -> None:
    server = assistant_server(Known(), [add_one, add_another_and_forget_its_rule])
    meta: Any = {TOKEN_META: "ada"}
    async with Client(server) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {"one", "another"}
        assert not (await client.call_tool("one", {}, meta=meta)).is_error
        with pytest.raises(MCPError):
            await client.call_tool("another", {}, meta=meta)
        with pytest.raises(MCPError):
            await client.call_tool("one", {}, meta={TOKEN_META: "stranger"})  # type: ignore[arg-type]
