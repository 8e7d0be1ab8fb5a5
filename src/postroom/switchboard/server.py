"""The switchboard's MCP server."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from postroom.guard.caller import caller
from postroom.guard.http import Verifier
from postroom.guard.tool_policy import ToolPolicy, any_butler
from postroom.switchboard.deliver import Deliver

DESCRIPTION = "Knows every butler, checks who is calling, and routes what they ask for"


def build_server(deliver: Deliver, verifier: Verifier) -> MCPServer[Any]:
    policy = ToolPolicy({"deliver": any_butler}, verifier)
    server: MCPServer[Any] = MCPServer("switchboard", description=DESCRIPTION, log_level="WARNING", middleware=[policy])

    async def deliver_tool(
        context: Context[Any, Any],
        notify_request: dict[str, Any],
        request_id: Annotated[str | None, Field(max_length=128)] = None,
        wait_seconds: Annotated[float, Field(ge=0, le=600)] = 20.0,
    ) -> dict[str, Any]:
        """Hand a notify.v1 envelope to the messenger and answer with its notify_response.v1."""
        return await deliver.deliver(
            caller(context, verifier), notify_request, request_id=request_id, wait_seconds=wait_seconds
        )

    server.add_tool(deliver_tool, name="deliver", annotations=ToolAnnotations(open_world_hint=True))
    return server
