"""An extension of the protocol on a server whose tools are added one by one."""

from __future__ import annotations

from typing import Any

from mcp.server.extension import Extension
from mcp.server.mcpserver import MCPServer


def add_extension(server: MCPServer[Any], extension: Extension) -> None:
    """As the SDK does with those it is given when a server is made."""
    server._apply_extension(extension)
    server._install_extension_interceptor()
