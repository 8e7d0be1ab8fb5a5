"""What the work on intents needs from storage, by shape alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from postroom.domain.intent import AgentIntent, IntentChange, IntentEvent, IntentStatus, Round


class IntentStore(Protocol):
    async def insert(self, change: IntentChange) -> tuple[AgentIntent, bool]: ...

    async def get(self, intent_id: str) -> AgentIntent | None: ...

    async def update(self, intent_id: str, decide: Callable[[AgentIntent], IntentChange]) -> IntentChange: ...

    async def events(self, intent_id: str, *, since: int, limit: int) -> Sequence[IntentEvent]: ...

    async def open_asks(self, correlation_id: str, from_agent: str) -> Sequence[AgentIntent]: ...


class Agenda(Protocol):
    """What is to be done, and when."""

    async def round(self, now_us: int, limit: int, *, without: Sequence[str] = ()) -> Round: ...

    async def sessions(self, intent_id: str) -> Sequence[tuple[str, str, str | None, str]]:
        """Status, last words, error class and butler of each session that works on this intent."""
        ...

    async def deliveries(self, intent_id: str) -> Sequence[tuple[str, str, str | None]]: ...


class InboxStore(Protocol):
    async def threads(
        self, agent: str, statuses: Sequence[IntentStatus], *, before: str | None, limit: int
    ) -> Sequence[AgentIntent]: ...

    async def arrived(
        self, agent: str, *, after: str | int | None, limit: int, statuses: Sequence[IntentStatus] = ...
    ) -> Sequence[tuple[int, AgentIntent]]: ...

    async def concerns(self, agent: str, intent_id: str) -> bool: ...

    async def messages(self, intent_id: str, limit: int = 200) -> Sequence[tuple[str, str, str, int]]: ...

    async def changes(self, agent: str, *, after: str | None, limit: int) -> Sequence[IntentEvent]: ...
