"""A butler without a model: it notifies, reminds and remembers, but starts no sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroom.domain.errors import TargetUnavailable


class NoSessions:
    def __init__(self, butler: str) -> None:
        self._butler = butler

    async def submit(
        self, *, prompt: str, source: str, request_context: Mapping[str, Any] | None = None, context: Any = None
    ) -> dict[str, Any]:
        raise TargetUnavailable(f"{self._butler} has no runtime (runtime.type)")

    async def listed(self, limit: int) -> list[dict[str, Any]]:
        return []

    async def get(self, session_id: str) -> dict[str, Any] | None:
        return None
