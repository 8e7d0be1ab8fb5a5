"""The two ways to the tools of one MCP server over HTTP: at once as JSON, or as a stream for those that take long."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from postroom.doors.asks.permission_tool import PERMISSION_TOOL
from postroom.doors.asks.tools import LONG_TOOLS
from postroom.doors.guard.long_calls import LongCalls
from postroom.system.mcp_sdk.param_headers import look_once_for_param_headers
from postroom.system.mcp_sdk.streaming import streaming


class McpTransport:
    """JSON answers cost half of what event streams cost, as measured; but they carry no progress."""

    def __init__(self, server: MCPServer[Any]) -> None:
        self._server = server
        self.routes = server.streamable_http_app(
            json_response=True,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard does it
        ).routes
        look_once_for_param_headers(server)
        self._long = streaming(server)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._server.session_manager.run(), self._long.run():
            yield

    def around(self, app: ASGIApp) -> ASGIApp:
        """`app` has the routes."""
        return LongCalls(app, self._long.handle_request, (*LONG_TOOLS, PERMISSION_TOOL))
