"""The MCP server of the API port: the tools that assistants call on a person's behalf."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from mcp.server.mcpserver import MCPServer

from postroom.doors.guard.guarded_server import GuardedServer
from postroom.doors.guard.http import Verifier
from postroom.doors.guard.tool_policy import Rule, ToolPolicy

DESCRIPTION: Final = "Reaches the people of a household: notifications that outlast the conversation"

AddTools = Callable[[MCPServer[Any]], dict[str, Rule]]


def assistant_server(verifier: Verifier, doors: Sequence[AddTools]) -> GuardedServer:
    """Each door adds its tools and says who may call them; what has no rule may be called by nobody."""
    policy = ToolPolicy({}, verifier)
    server = GuardedServer("postroom", policy, description=DESCRIPTION)
    for add_tools in doors:
        policy.rules.update(add_tools(server))
    return server
