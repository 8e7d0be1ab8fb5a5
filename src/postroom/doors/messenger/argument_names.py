"""A call with a missing or an unknown argument is told which ones there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, CallToolResult, TextContent

from postroom.domain.arguments import unknown_argument
from postroom.domain.error_shapes import error_sentence
from postroom.domain.errors import ValidationError
from postroom.domain.notify_response import notify_error
from postroom.domain.strict_json import strict_json
from postroom.doors.messenger.policy import (
    APPROVAL_TOOL_NAMES,
    CHANNEL_TOOL_NAMES,
    READING_TOOL_NAMES,
    REPAIRING_TOOL_NAMES,
)

_RECORD_TOOLS = frozenset((*READING_TOOL_NAMES, *REPAIRING_TOOL_NAMES))
_CHECKED_TOOLS = _RECORD_TOOLS | {*CHANNEL_TOOL_NAMES, *APPROVAL_TOOL_NAMES}


class ArgumentNames:
    """The framework drops arguments it does not know; a misspelt filter would find everything."""

    def __init__(self) -> None:
        self._server: MCPServer[Any] | None = None
        self._schemas: dict[str, Mapping[str, Any]] = {}

    def of(self, server: MCPServer[Any]) -> None:
        """The server whose tools these are; it is built with us inside, so it comes later than we do."""
        self._server = server

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        params = ctx.params or {}
        name, given = str(params.get("name")), params.get("arguments")
        if ctx.method == "tools/call" and name in _CHECKED_TOOLS:
            if self._server and not self._schemas:
                self._schemas = {tool.name: tool.input_schema for tool in await self._server.list_tools()}
            problem = self._problem(name, given if isinstance(given, Mapping) else {})
            if problem and name in _RECORD_TOOLS:
                return _answer(error_sentence(ValidationError(problem)))
            if problem:
                return _answer(notify_error(ValidationError(problem)))
        return await call_next(ctx)

    def _problem(self, name: str, given: Mapping[str, Any]) -> str | None:
        if name in APPROVAL_TOOL_NAMES and name not in self._schemas:
            told = f"approvals are switched off in this household (approvals.enabled), so there is no {name}"
            raise MCPError(code=INVALID_REQUEST, message=told)
        schema = self._schemas.get(name, {})
        allowed = list(schema.get("properties", {}))
        missing = [one for one in schema.get("required", []) if one not in given]
        if unknown := unknown_argument(given, allowed):
            return unknown
        return f"Missing argument {', '.join(missing)}" if missing else None


def _answer(content: dict[str, Any]) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=strict_json(content))], structured_content=content)
