"""A part in the same process: MCP without a wire."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError

from postroom.domain.errors import DeliveryTimeout, InternalError, TargetUnavailable, ValidationError
from postroom.domain.principal import TOKEN_META


class MemoryPeer:
    """The SDK's client must be opened and closed in one task, so `connect` and `close` belong together."""

    def __init__(self, server: MCPServer[Any], token: str) -> None:
        self._server = server
        self._meta: dict[str, Any] = {TOKEN_META: token}
        self._stack = AsyncExitStack()
        self._client: Client | None = None

    async def connect(self) -> None:
        self._client = await self._stack.enter_async_context(Client(self._server, cache=None))

    async def close(self) -> None:
        self._client = None
        await self._stack.aclose()

    async def call(
        self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float, *, token: str | None = None
    ) -> dict[str, Any]:
        """With a `token`, in the name of somebody else for once."""
        if self._client is None:
            raise TargetUnavailable(f"{self._server.name} is not running")
        meta: Any = self._meta if token is None else {TOKEN_META: token}
        try:
            async with asyncio.timeout(timeout_seconds):
                result = await self._client.call_tool(tool, dict(arguments), meta=meta)
        except TimeoutError:
            raise DeliveryTimeout(f"{self._server.name} did not answer in time") from None
        except MCPError as error:
            raise ValidationError(f"{self._server.name} refused: {error.error.message}") from error
        if result.is_error or result.structured_content is None:
            raise InternalError(f"{self._server.name} failed in {tool}")
        return dict(result.structured_content)
