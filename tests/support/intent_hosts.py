"""Processes that write intents at the same time, each with a clock of its own, and somebody who reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.util import await_only
from tests.patience import PATIENCE_SECONDS

from postroom.intents.model import (
    AgentIntent,
    Details,
    IntentChange,
    IntentEventType,
    IntentStatus,
    MoveContext,
    Step,
    StepKind,
    noted,
    opened,
)
from postroom.intents.store import StoredIntents
from postroom.intents.threads import StoredInbox
from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import IdMint

ANN, BOB, CLEO = "agent://x/ann", "agent://x/bob", "agent://x/cleo"
NOW = 1_800_000_000_000_000
MINUTE = 60_000_000
Result = TypeVar("Result")


def an_intent(now_us: int, ids: IdMint, *, to_agent: str, **more: Any) -> AgentIntent:
    """An ask from Bob, not yet opened."""
    values: dict[str, Any] = {
        "id": ids.mint(now_us),
        "intent_type": "intent.ask.v1",
        "correlation_id": ids.mint(now_us),
        "from_agent": BOB,
        "to_agent": to_agent,
        "handler": to_agent,
        "payload": {"question": "Late?"},
        "metadata": {},
        "idempotency_key": None,
        "fingerprint": "f",
        "submitted_by": "test",
        "reply_to": None,
        "deadline_at_us": None,
        "macro_id": None,
        "status": IntentStatus.CREATED,
        "waiting_reason": None,
        "seq": 0,
        "plan": (Step(StepKind.ASK, now_us, to_agent),),
        "position": 0,
        "next_at_us": None,
        "carried": False,
        "result": None,
        "created_at_us": now_us,
        "updated_at_us": now_us,
    }
    return AgentIntent(**values | more)


@dataclass
class Host:
    """A process with a database connection and a clock of its own."""

    database: Database
    clock_us: int = NOW
    mint: IdMint = field(default_factory=IdMint)

    @property
    def store(self) -> StoredIntents:
        return StoredIntents(self.database, self.mint.mint)

    def moment(self, actor: str = BOB) -> MoveContext:
        self.clock_us += 1_000
        return MoveContext(self.clock_us, actor, self.mint.mint)

    def new(self, to: str = ANN, **more: Any) -> IntentChange:
        moment = self.moment()
        return opened(an_intent(moment.now_us, self.mint, to_agent=to, **more), moment)

    async def ask(self, to: str = ANN, **more: Any) -> AgentIntent:
        return (await self.store.insert(self.new(to, **more)))[0]

    async def remind(self, intent: AgentIntent) -> None:
        await self.store.update(intent.id, lambda found: noted(found, IntentEventType.REMINDER, self.moment()))

    async def delegate(self, intent: AgentIntent, to: str) -> None:
        def hand_over(found: AgentIntent) -> IntentChange:
            return noted(replace(found, handler=to), IntentEventType.TRANSFER, self.moment(), Details(delegate_to=to))

        await self.store.update(intent.id, hand_over)


@dataclass
class Reader:
    """Pages on from what it saw last, one event at a time unless told otherwise."""

    inbox: StoredInbox
    agent: str = ANN
    seen: list[str] = field(default_factory=list)

    async def read(self, limit: int = 1) -> bool:
        after = self.seen[-1] if self.seen else None
        found = await self.inbox.changes(self.agent, after=after, limit=limit)
        self.seen += [event.id for event in found]
        return bool(found)

    async def read_all(self) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await self.read():
                """There may be more."""


class Held:
    """A database whose writes wait, all written but not committed, until they may go on."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()

    def pause(self) -> None:
        self.reached.set()
        await_only(self.go_on.wait())

    async def write(self, work: Callable[[Connection], Result]) -> Result:
        def held(connection: Connection) -> Result:
            result = work(connection)
            self.pause()
            return result

        return await self._database.write(held)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)
