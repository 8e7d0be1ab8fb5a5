"""A second way to the same tools, whose answers are event streams: for calls that take their time."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings


def streaming(server: MCPServer[Any]) -> StreamableHTTPSessionManager:
    """
    Carries progress, sends a sign of life every 15 seconds, and ends the call when its caller is gone.

    It keeps no sessions: a call that belongs to a session of the server's own way is served all the same, because
    who calls is in its token. Needs the server's HTTP application.
    """
    return StreamableHTTPSessionManager(
        app=server.session_manager.app,
        json_response=False,
        stateless=True,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard does it
    )
