"""A part in the same process: its MCP tools without a wire."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, cast

import structlog
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError

from postroom.domain.errors import DeliveryTimeout, InternalError, TargetUnavailable, ValidationError
from postroom.domain.principal import TOKEN_META

_PROTOCOL: Final = "2026-07-28"
_log = structlog.get_logger("postroom.peers")


class MemoryPeer:
    """
    The same token, the same policy, the same checks of arguments and the same tool as over HTTP.

    Only what a wire needs is left out: a session, and every message written as JSON and
    read again, twice. A `notify` makes two such calls, and they were half of what it cost.
    """

    def __init__(self, server: MCPServer[Any], token: str) -> None:
        self._server = server
        self._meta: Any = {TOKEN_META: token}
        self._open = False

    async def connect(self) -> None:
        self._open = True

    async def close(self) -> None:
        self._open = False

    async def call(
        self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float, *, token: str | None = None
    ) -> dict[str, Any]:
        """With a `token`, in the name of somebody else for once."""
        if not self._open:
            raise TargetUnavailable(f"{self._server.name} is not running")
        meta: Any = self._meta if token is None else {TOKEN_META: token}
        try:
            async with asyncio.timeout(timeout_seconds):
                result: Any = await self._through_the_guard(self._context(tool, arguments, meta))
        except TimeoutError:
            raise DeliveryTimeout(f"{self._server.name} did not answer in time") from None
        except MCPError as error:
            raise ValidationError(f"{self._server.name} refused: {error.error.message}") from error
        except ToolError as error:
            _log.error("peer.failed", part=self._server.name, tool=tool, cause=type(error.__cause__).__name__)
            raise InternalError(f"{self._server.name} failed in {tool}") from error
        if result.is_error or result.structured_content is None:
            raise InternalError(f"{self._server.name} failed in {tool}")
        return dict(result.structured_content)

    def _context(self, tool: str, arguments: Mapping[str, Any], meta: Any) -> ServerRequestContext[Any, Any]:
        return ServerRequestContext(
            session=cast(ServerSession, None),  # nobody here asks the caller anything back
            lifespan_context={},
            protocol_version=_PROTOCOL,
            method="tools/call",
            params={"name": tool, "arguments": dict(arguments)},
            meta=meta,
        )

    async def _through_the_guard(self, context: ServerRequestContext[Any, Any]) -> HandlerResult:
        step: CallNext = self._run
        for middleware in reversed(self._server.middleware):
            step = partial(middleware, call_next=step)
        return await step(context)

    async def _run(self, context: ServerRequestContext[Any, Any]) -> HandlerResult:
        params = context.params or {}
        asked = Context(request_context=context, mcp_server=self._server)
        return await self._server.call_tool(params["name"], params["arguments"], asked)
