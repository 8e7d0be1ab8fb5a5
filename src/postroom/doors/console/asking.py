"""Ask the messenger something for a page that has an answer without it, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.errors import PostroomError
from postroom.domain.principal import Principal
from postroom.doors.console.ports import Tools

_PATIENCE_SECONDS: Final = 3.0  # a messenger that is away must not hold up what the ledger knows


async def asked(tools: Tools, who: Principal, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """None when there is no answer, or only a refusal."""
    try:
        answer = await tools.call(who, tool, arguments, _PATIENCE_SECONDS)
    except PostroomError:
        return None
    return None if "error" in answer else answer
