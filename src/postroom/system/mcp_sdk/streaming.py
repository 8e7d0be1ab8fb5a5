"""Further ways to the same tools, whose answers are event streams: for calls that take their time or ask back."""

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
    return _manager(server, stateless=True)


def asking_back(server: MCPServer[Any]) -> StreamableHTTPSessionManager:
    """Keeps sessions, in which a client of the older protocol can be asked something while it waits for an answer."""
    return _manager(server, stateless=False)


def is_session_of(manager: StreamableHTTPSessionManager, session_id: str) -> bool:
    return session_id in manager._server_instances


def _manager(server: MCPServer[Any], *, stateless: bool) -> StreamableHTTPSessionManager:
    return StreamableHTTPSessionManager(
        app=server.session_manager.app,
        json_response=False,
        stateless=stateless,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard does it
    )
