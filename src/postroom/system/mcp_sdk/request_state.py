"""What a client echoes between two rounds of one call, sealed under a key that outlives the process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

Whose = Callable[[ServerRequestContext[Any, Any]], str | None]


def keep_request_state(server: MCPServer[Any], key: bytes, ttl_seconds: float, whose: Whose) -> None:
    """The SDK's own key is made at each start. Bound to the caller, the tool, its arguments and this server."""
    security = RequestStateSecurity(keys=[key], ttl=ttl_seconds, bind_principal=whose)
    for one in server.middleware:
        if isinstance(one, RequestStateBoundary):
            one._security = security
