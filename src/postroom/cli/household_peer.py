"""How a command reaches the running household: as the operator, over MCP."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from postroom.domain.principal import OPERATOR, Principal
from postroom.guard.tokens import TokenFile
from postroom.peers.http import HttpPeer
from postroom.settings import Settings, SettingsError


def call(
    settings: Settings,
    part: str,
    tool: str,
    arguments: Mapping[str, Any],
    *,
    timeout_seconds: float = 30.0,
    principal: Principal = OPERATOR,
) -> dict[str, Any]:
    token = TokenFile(settings.tokens_file).token_of(principal)
    if token is None:
        raise SettingsError(f"{settings.tokens_file} holds no token for {principal}; start the household first.")
    return asyncio.run(_call(settings, part, token, tool, arguments, timeout_seconds))


async def _call(
    settings: Settings, part: str, token: str, tool: str, arguments: Mapping[str, Any], timeout_seconds: float
) -> dict[str, Any]:
    peer = HttpPeer(part, f"http://{settings.host}:{getattr(settings.ports, part)}/mcp", token)
    try:
        return await peer.call(tool, arguments, timeout_seconds)
    finally:
        await peer.close()
