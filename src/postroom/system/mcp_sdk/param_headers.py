"""`Mcp-Param-*` headers are held against the arguments of those tools that declare any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.shared.inbound import x_mcp_header_map


def look_once_for_param_headers(server: MCPServer[Any]) -> None:
    """
    The framework walks a tool's whole schema twice at every call to find what the tool declares.

    A tool declares it once. One that declares nothing has no schema to hold against headers,
    and for one that does the framework goes on as before. Needs the server's HTTP application.
    """
    inner = server.session_manager.app
    schema_of = inner.get_tool_input_schema
    if schema_of is None:
        return
    declares: dict[str, bool] = {}

    def where_declared(name: str) -> Mapping[str, Any] | None:
        schema = schema_of(name)
        if schema is None:
            return None
        if name not in declares:
            declares[name] = bool(x_mcp_header_map(schema))
        return schema if declares[name] else None

    inner.get_tool_input_schema = where_declared
