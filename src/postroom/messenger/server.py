"""The messenger's MCP server."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from postroom.approvals.approvals import Approvals
from postroom.guard.caller import caller
from postroom.guard.http import Verifier
from postroom.guard.tool_policy import ToolPolicy, butler
from postroom.messenger.approval_tools import add_approval_tools
from postroom.messenger.execute import Execute

DESCRIPTION = "Outbound delivery execution plane for Telegram and Email"


def build_server(execute: Execute, verifier: Verifier, approvals: Approvals | None = None) -> MCPServer[Any]:
    policy = ToolPolicy({"route.execute": butler("switchboard")}, verifier)
    server: MCPServer[Any] = MCPServer("messenger", description=DESCRIPTION, log_level="WARNING", middleware=[policy])

    async def route_execute(
        context: Context[Any, Any],
        route: dict[str, Any],
        wait_seconds: Annotated[float, Field(ge=0, le=600)] = 20.0,
    ) -> dict[str, Any]:
        """Execute a route.v1 that carries a notify.v1; answers with a route_response.v1."""
        return await execute.execute(caller(context, verifier), route, wait_seconds=wait_seconds)

    server.add_tool(route_execute, name="route.execute", annotations=ToolAnnotations(open_world_hint=True))
    if approvals is not None:
        add_approval_tools(server, policy, approvals, verifier)
    return server
