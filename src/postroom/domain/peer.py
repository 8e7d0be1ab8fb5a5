"""Another part of the household, called over MCP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Peer(Protocol):
    """Another part of the household, reached over MCP."""

    async def call(self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]: ...
