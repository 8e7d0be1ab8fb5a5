"""Tools of functions, with what is known of a function's arguments found out once, however many servers have it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import unwrap
from types import CodeType, FunctionType
from typing import Any, Final, TypeGuard

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp_types import Icon, ToolAnnotations

from postroom.system.mcp_sdk.given_arguments import given_arguments


@dataclass(frozen=True, slots=True)
class _Made:
    """A tool, and the parts of its function that its arguments came from."""

    tool: Tool
    declared: tuple[Any, ...]


_MADE: Final[dict[tuple[CodeType, CodeType, str | None, bool | None], _Made]] = {}


def tool_of(
    function: Callable[..., Any],
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    annotations: ToolAnnotations | None = None,
    icons: list[Icon] | None = None,
    meta: dict[str, Any] | None = None,
    structured_output: bool | None = None,
) -> Tool:
    """As the SDK makes it of a function."""
    told = {"title": title, "description": description or function.__doc__ or ""}
    about = {"annotations": annotations, "icons": icons, "meta": meta}
    return _shape(function, name, structured_output).model_copy(update={"fn": function, **told, **about})


def _shape(function: Callable[..., Any], name: str | None, structured: bool | None) -> Tool:
    """Of this function, or of one that differs only in what it remembers."""
    inner = unwrap(function)
    if not (_is_plain(function) and _is_plain(inner)):
        return _made(function, name, structured)
    key, declared = (function.__code__, inner.__code__, name, structured), _declared(function, inner)
    made = _MADE.get(key)
    if made is None or made.declared != declared:
        made = _MADE[key] = _Made(_made(function, name, structured), declared)
    return made.tool


def _made(function: Callable[..., Any], name: str | None, structured: bool | None) -> Tool:
    tool = Tool.from_function(function, name, structured_output=structured)
    return tool.model_copy(update={"fn_metadata": given_arguments(tool.fn_metadata)})


def add_tool(server: MCPServer[Any], tool: Tool) -> None:
    """Of two with one name the first stays, as in the SDK."""
    server._tool_manager._tools.setdefault(tool.name, tool)


def _is_plain(function: Callable[..., Any]) -> TypeGuard[FunctionType]:
    """Not a method, an object or one with a signature of its own: of these the code does not say the arguments."""
    return isinstance(function, FunctionType) and not hasattr(function, "__signature__")


def _declared(function: FunctionType, inner: FunctionType) -> tuple[Any, ...]:
    """What two functions of the same code can still differ in."""
    return function.__annotations__, inner.__annotations__, inner.__defaults__, inner.__kwdefaults__
