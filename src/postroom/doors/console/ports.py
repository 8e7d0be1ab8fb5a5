"""What the console needs from the household, by shape alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from postroom.domain.console_session import ConsoleSession, OpenSession, SignIn
from postroom.domain.principal import Principal


class ConsoleSessions(Protocol):
    async def redeem(self, link_secret: str, now_us: int, *, browser: str = "", device: str = "") -> str | None:
        """The secret of a new session; None when the link is unknown, used, too old or another browser's."""
        ...

    async def is_for_another_browser(self, link_secret: str, browser: str, now_us: int) -> bool: ...

    async def begin(self, sign_in: SignIn, now_us: int) -> str | None:
        """The secret of a new session; None when this person may not sign in any more."""
        ...

    async def find(self, secret: str, now_us: int) -> ConsoleSession | None: ...

    async def end(self, secret: str, now_us: int) -> None: ...

    async def end_all(self, principal: Principal, now_us: int, *, but: str = "") -> int: ...

    async def end_one(self, person_id: str, session_id: str, now_us: int) -> bool: ...

    async def open_of(self, person_id: str, now_us: int) -> Sequence[OpenSession]: ...


class KeptSessions(ConsoleSessions, Protocol):
    """As they are kept, whatever became of those they stand for."""

    async def begin(self, sign_in: SignIn, now_us: int) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownActions:
    actions: Sequence[Mapping[str, Any]]
    next_cursor: str | None


class Decisions(Protocol):
    """What waits for a person's word; every method raises one of our errors when nothing was done."""

    async def page(self, who: Principal, *, status: str, cursor: str | None, limit: int) -> ShownActions: ...

    async def show(self, who: Principal, action_id: str) -> Mapping[str, Any]: ...

    async def approve(
        self,
        who: Principal,
        action_id: str,
        *,
        content_hash: str,
        edits: Mapping[str, str] | None,
        create_rule: bool | dict[str, Any],
    ) -> Mapping[str, Any] | None:
        """The standing rule that was made with it."""
        ...

    async def reject(self, who: Principal, action_id: str, reason: str) -> None: ...


class StandingRules(Protocol):
    async def rules(self, who: Principal) -> Sequence[Mapping[str, Any]]: ...

    async def create_rule(self, who: Principal, asked: Mapping[str, Any]) -> None: ...

    async def revoke_rule(self, who: Principal, rule_id: str) -> None: ...


class Tools(Protocol):
    """The messenger's tools, called as the person who is signed in."""

    async def call(
        self, caller: Principal, tool: str, arguments: Mapping[str, Any], timeout_seconds: float = 30.0
    ) -> dict[str, Any]: ...
