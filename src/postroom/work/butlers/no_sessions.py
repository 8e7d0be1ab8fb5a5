"""A butler without a model: it notifies, reminds and remembers, but starts no sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from postroom.domain.errors import TargetUnavailable
from postroom.domain.principal import Principal
from postroom.domain.session import Session, SessionStatus


class NoSessions:
    def __init__(self, butler: str) -> None:
        self._butler = butler

    async def submit(
        self,
        prompt: str,
        *,
        trigger: str,
        caller: Principal,
        material: object = None,
        context: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Session:
        raise TargetUnavailable(f"{self._butler} has no runtime (runtime.type)")

    async def newest(
        self, *, status: SessionStatus | None = None, before: str | None = None, limit: int = 50
    ) -> Sequence[Session]:
        return ()

    async def get(self, session_id: str) -> Session | None:
        return None

    async def halt(self, session_id: str) -> Session | None:
        return None

    def notify_context(self, caller: Principal, intent: object) -> dict[str, Any] | None:
        return None
