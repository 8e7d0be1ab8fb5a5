"""Tools of a server as the SDK keeps them, and one that takes its arguments as they came."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import ConfigDict

__all__ = ["Tool", "arguments_of", "declared_arguments", "show_parameters", "show_required", "unchecked_tool"]


def declared_arguments(server: MCPServer[Any], name: str) -> Mapping[str, Any] | None:
    """By name; None when there is no such tool."""
    tool = server._tool_manager.get_tool(name)
    return None if tool is None else arguments_of(tool)


def arguments_of(tool: Tool) -> Mapping[str, Any]:
    declared: Mapping[str, Any] = tool.parameters.get("properties", {})
    return declared


def show_parameters(server: MCPServer[Any], name: str, parameters: dict[str, Any]) -> None:
    """What a client is shown of a tool, where its function accepts more than it should be sent."""
    tool = server._tool_manager.get_tool(name)
    if tool is None:
        raise LookupError(f"there is no tool {name}")
    tool.parameters = parameters


def show_required(server: MCPServer[Any], name: str, *required: str) -> None:
    """A client is shown that these are needed, where the function does without so that it can say it in its own way."""
    tool = server._tool_manager.get_tool(name)
    if tool is None:
        raise LookupError(f"there is no tool {name}")
    tool.parameters = {**tool.parameters, "required": list(required)}


def unchecked_tool(
    function: Callable[[dict[str, Any], Context[Any, Any]], Awaitable[CallToolResult]],
    *,
    name: str,
    description: str,
    parameters: dict[str, Any],
    annotations: ToolAnnotations,
) -> Tool:
    """Its function gets `arguments` and `context`, and says itself which argument is wrong."""
    return Tool(
        fn=function,
        name=name,
        title=None,
        description=description,
        parameters=parameters,
        fn_metadata=FuncMetadata(arg_model=_AnyArguments),
        is_async=True,
        context_kwarg="context",
        annotations=annotations,
    )


class _AnyArguments(ArgModelBase):
    model_config = ConfigDict(extra="allow")

    def model_dump_one_level(self) -> dict[str, Any]:
        return {"arguments": dict(self.model_extra or {})}
