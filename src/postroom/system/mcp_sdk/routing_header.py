"""The `Mcp-Name` header, by which intermediaries send a call to where it belongs."""

from __future__ import annotations

from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value


def contradicts(context: ServerRequestContext[Any, Any], name: str) -> bool:
    """The header names something else than the call does; without the header there is nothing to contradict."""
    named = context.request.headers.get(MCP_NAME_HEADER) if context.request is not None else None
    return named is not None and decode_header_value(named) != name
