"""A part in the same process: its MCP tools without a wire."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any, Protocol

import structlog
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError

from postroom.domain.errors import DeliveryTimeout, InternalError, TargetUnavailable, ValidationError
from postroom.domain.principal import Principal
from postroom.system.overdue import Overdue

_log = structlog.get_logger("postroom.peers")


class InProcessServer(Protocol):
    """What every MCP server of the household offers to the others in its process."""

    @property
    def name(self) -> str: ...

    async def from_inside(self, token: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any] | None: ...

    async def from_caller(
        self, caller: Principal | None, tool: str, arguments: Mapping[str, Any]
    ) -> dict[str, Any] | None: ...


class MemoryPeer:
    """The same errors as over HTTP, from the same checks."""

    def __init__(self, part: InProcessServer, token: str) -> None:
        self._part = part
        self._token = token
        self._open = False
        self._overdue = Overdue()

    async def connect(self) -> None:
        self._open = True

    async def close(self) -> None:
        self._open = False

    async def call(
        self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float, *, token: str | None = None
    ) -> dict[str, Any]:
        """With a `token`, in the name of somebody else for once."""
        self._must_be_open()
        asked = self._part.from_inside(self._token if token is None else token, tool, arguments)
        return await self._answer(tool, asked, timeout_seconds)

    async def call_as(
        self, caller: Principal, tool: str, arguments: Mapping[str, Any], timeout_seconds: float
    ) -> dict[str, Any]:
        """In the name of somebody whom a door of this process has let in."""
        self._must_be_open()
        return await self._answer(tool, self._part.from_caller(caller, tool, arguments), timeout_seconds)

    def _must_be_open(self) -> None:
        if not self._open:
            raise TargetUnavailable(f"{self._part.name} is not running")

    async def _answer(
        self, tool: str, asked: Coroutine[Any, Any, dict[str, Any] | None], timeout_seconds: float
    ) -> dict[str, Any]:
        try:
            answer = await self._overdue.limit(asked, timeout_seconds)
        except TimeoutError:
            raise DeliveryTimeout(f"{self._part.name} did not answer in time") from None
        except MCPError as error:
            raise ValidationError(f"{self._part.name} refused: {error.error.message}") from error
        except ToolError as error:
            _log.error("peer.failed", part=self._part.name, tool=tool, cause=type(error.__cause__).__name__)
            raise InternalError(f"{self._part.name} failed in {tool}") from error
        if answer is None:
            raise InternalError(f"{self._part.name} failed in {tool}")
        return answer
