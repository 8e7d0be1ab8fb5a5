"""A butler's MCP server: the core tools every butler has."""

from __future__ import annotations

from typing import Any, Final

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

from postroom.butlers.daemon import Butler
from postroom.butlers.notify_tool import add_correction_tools, add_notify_tools
from postroom.butlers.tools import add_route_tool, add_session_tools, add_state_tools
from postroom.kernel.guard.http import Verifier
from postroom.kernel.guard.tools import GuardedServer, Rule, ToolPolicy, butler

CORE_TOOL_NAMES: Final = (
    "status",
    "trigger",
    "route.execute",
    "notify",
    "notify_status",
    "revise",
    "recall",
    "remind",
    "state_get",
    "state_set",
    "state_delete",
    "state_list",
    "schedule_list",
    "sessions_list",
    "sessions_get",
    "sessions_stop",
)


def core_rules(name: str) -> dict[str, Rule]:
    """Its own tools answer to the butler itself; only the switchboard routes to it."""
    rules: dict[str, Rule] = dict.fromkeys(CORE_TOOL_NAMES, butler(name))
    rules["route.execute"] = butler("switchboard")
    return rules


def build_server(one: Butler, verifier: Verifier) -> GuardedServer:
    policy = ToolPolicy(core_rules(one.name), verifier)
    server = GuardedServer(one.name, policy, description=one.config.butler.description)
    add_core_tools(server, one)
    add_route_tool(server, one)
    return server


def add_core_tools(server: MCPServer[Any], one: Butler) -> None:
    """All of them but `route.execute`, which is not the same work everywhere."""

    async def status() -> dict[str, Any]:
        """Who this butler is, whether it and its modules are well, and since when."""
        return one.status()

    server.add_tool(status, annotations=ToolAnnotations(read_only_hint=True))
    add_notify_tools(server, one)
    add_correction_tools(server, one)
    add_state_tools(server, one)
    add_session_tools(server, one)
