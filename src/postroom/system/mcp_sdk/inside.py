"""A tool's call from inside the process: what the SDK does between a request and its handler, without a wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.session import ServerSession
from pydantic_core import to_jsonable_python

from postroom.system.mcp_sdk.revision import REVISION


def call_context(tool: str, arguments: Mapping[str, Any], request: object) -> ServerRequestContext[Any, Any]:
    """What middleware sees of a call; `request` says who calls."""
    return ServerRequestContext(
        session=cast(ServerSession, None),  # nothing here asks the caller anything back
        lifespan_context={},
        protocol_version=REVISION,
        method="tools/call",
        params={"name": tool, "arguments": dict(arguments)},
        request=request,
    )


async def run(tool: Tool, arguments: dict[str, Any], context: object) -> Any:
    """`context` stands where a tool's own stands otherwise. Raises ToolError, as the SDK does."""
    return await tool.run(arguments, cast(Context[Any, Any], context))


def answer_of(tool: Tool, result: Any) -> HandlerResult:
    """Structured alone, where the SDK would write it a second time as text."""
    try:
        if isinstance(result, dict) and not tool.fn_metadata.wrap_output:
            return cast(dict[str, Any], to_jsonable_python(result))
        return tool.fn_metadata.convert_result(result)
    except ValueError as error:  # also what pydantic raises
        raise UnexpectedToolError(tool.name) from error
