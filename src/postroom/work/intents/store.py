"""What the work on intents needs from storage, by shape alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from postroom.domain.intent import Change, Intent, IntentEvent, IntentStatus, Round


class IntentStore(Protocol):
    async def insert(self, change: Change) -> tuple[Intent, bool]: ...

    async def get(self, intent_id: str) -> Intent | None: ...

    async def update(self, intent_id: str, decide: Callable[[Intent], Change]) -> Change: ...

    async def events(self, intent_id: str, *, since: int, limit: int) -> Sequence[IntentEvent]: ...

    async def open_asks(self, correlation_id: str, from_agent: str) -> Sequence[Intent]: ...


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
    ) -> Sequence[Intent]: ...

    async def arrived(self, agent: str, *, after: str | None, limit: int) -> Sequence[Intent]: ...

    async def concerns(self, agent: str, intent_id: str) -> bool: ...

    async def messages(self, intent_id: str, limit: int = 200) -> Sequence[tuple[str, str, str, int]]: ...

    async def changes(self, agent: str, *, after: str | None, limit: int) -> Sequence[IntentEvent]: ...
