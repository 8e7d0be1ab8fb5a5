"""What the console needs from the household, by shape alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from postroom.domain.console_session import Session
from postroom.domain.principal import Principal


class Sessions(Protocol):
    async def redeem(self, link_secret: str, now_us: int) -> str | None:
        """The secret of a new session; None when the link is unknown, used or too old."""
        ...

    async def find(self, secret: str, now_us: int) -> Session | None: ...

    async def end(self, secret: str, now_us: int) -> None: ...


class Tools(Protocol):
    """The messenger's tools, called as the person who is signed in: how every act leaves the console."""

    async def call(
        self, caller: Principal, tool: str, arguments: Mapping[str, Any], timeout_seconds: float = 30.0
    ) -> dict[str, Any]: ...


class Pulse(Protocol):
    async def look(self, user_ids: Collection[str], now_us: int) -> Mapping[str, tuple[Any, ...]]:
        """By topic (`deliveries`, `approvals`, `inbox:<user>`): the moment of the newest change, then whatever else
        differs when more has happened; or nothing at all when it has been quiet lately."""
        ...
