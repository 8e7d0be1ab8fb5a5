"""The peer that is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroom.domain.errors import TargetUnavailable


class Nobody:
    """A part that this household has not."""

    def __init__(self, target: str) -> None:
        self._target = target

    async def call(
        self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float, *, token: str | None = None
    ) -> dict[str, Any]:
        raise TargetUnavailable(f"{self._target} is not running")
