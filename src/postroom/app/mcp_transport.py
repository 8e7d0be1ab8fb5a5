"""The ways to the tools of one MCP server over HTTP: as JSON at once, or as a stream for what waits or asks back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from postroom.doors.asks.permission_tool import PERMISSION_TOOL
from postroom.doors.asks.tools import LONG_TOOLS
from postroom.doors.guard.form_sessions import FormSessions
from postroom.doors.guard.long_calls import LongCalls
from postroom.system.mcp_sdk.param_headers import look_once_for_param_headers
from postroom.system.mcp_sdk.streaming import asking_back, is_session_of, streaming


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
        self._forms = asking_back(server)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._server.session_manager.run(), self._long.run(), self._forms.run():
            yield

    def around(self, app: ASGIApp) -> ASGIApp:
        """`app` has the routes."""
        long = LongCalls(app, self._long.handle_request, (*LONG_TOOLS, PERMISSION_TOOL))
        return FormSessions(long, self._forms.handle_request, partial(is_session_of, self._forms))
