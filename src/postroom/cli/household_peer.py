"""How a command reaches the running household: as the operator, over MCP."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from postroom.app.endpoints import Endpoints
from postroom.app.roster import load_roster
from postroom.domain.mistake import Mistake
from postroom.domain.nearest import did_you_mean
from postroom.domain.principal import OPERATOR, Principal
from postroom.guard.tokens import TokenFile
from postroom.peers.http import HttpPeer, Unreachable
from postroom.settings import Settings, SettingsError


class NotRunning(Mistake):
    def __init__(self, told: str) -> None:
        super().__init__(f"{told}: is the household running? `postroom up` starts it.")


def call(
    settings: Settings,
    part: str,
    tool: str,
    arguments: Mapping[str, Any],
    *,
    timeout_seconds: float = 30.0,
    principal: Principal = OPERATOR,
) -> dict[str, Any]:
    url = _url(settings, part)
    token = TokenFile(settings.tokens_file).token_of(principal)
    if token is None:
        raise NotRunning(f"{settings.tokens_file} holds no token for {principal}")
    return asyncio.run(_call(HttpPeer(part, url, token), tool, arguments, timeout_seconds))


def _url(settings: Settings, butler: str) -> str:
    roster = load_roster(settings, os.environ)
    url = Endpoints(settings, roster).url(butler)
    if url is None:
        names = [config.name for config in roster]
        raise SettingsError(f"There is no butler '{butler}'{did_you_mean(butler, names)} Butlers: {', '.join(names)}.")
    return url


async def _call(peer: HttpPeer, tool: str, arguments: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
    try:
        return await peer.call(tool, arguments, timeout_seconds)
    except Unreachable:
        raise NotRunning(f"{peer.name} does not answer at {peer.url}") from None
    finally:
        await peer.close()
