"""How a command reaches the running household: as its owner, over MCP."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from postroom.cli.not_running import NotRunning, no_owner_token
from postroom.domain.nearest import did_you_mean
from postroom.domain.principal import OPERATOR
from postroom.domain.settings_error import SettingsError
from postroom.doors.guard.tokens import TokenFile
from postroom.world.peers.single_call import call_once
from postroom.world.peers.tool_call import Unreachable

if TYPE_CHECKING:
    from postroom.system.settings import Settings


def call(
    settings: Settings, part: str, tool: str, arguments: Mapping[str, Any], *, timeout_seconds: float = 30.0
) -> dict[str, Any]:
    return call_at(_url(settings, part), settings.tokens_file, part, tool, arguments, timeout_seconds)


def call_at(
    url: str, tokens_file: Path, part: str, tool: str, arguments: Mapping[str, Any], timeout_seconds: float
) -> dict[str, Any]:
    try:
        return call_once(part, url, operator_token(tokens_file), tool, arguments, timeout_seconds)
    except Unreachable:
        raise NotRunning(f"{part} does not answer at {url}") from None


def operator_token(tokens_file: Path) -> str:
    token = TokenFile(tokens_file).token_of(OPERATOR)
    if token is None:
        raise no_owner_token(tokens_file)
    return token


def _url(settings: Settings, butler: str) -> str:
    from postroom.system.roster.endpoints import Endpoints
    from postroom.system.roster.load import load_roster

    roster = load_roster(settings, os.environ)
    url = Endpoints(settings, roster).url(butler)
    if url is None:
        names = [config.name for config in roster]
        raise SettingsError(f"There is no butler '{butler}'{did_you_mean(butler, names)} Butlers: {', '.join(names)}.")
    return url
