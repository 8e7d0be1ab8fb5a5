"""Attention put together as in a household, on a channel that does nothing and a clock that can be set."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos.offset_clock import OffsetClock
from tests.support.worlds import world_of

from benchmarks.ask_house import overrides
from benchmarks.plane import NoChannel
from postroom.attention.attention import Attention
from postroom.attention.rules.policy import parse_policy
from postroom.delivery.accept import Plane
from postroom.household.attention import attending, build_attention
from postroom.household.delivery import running_plane
from postroom.household.store import Store, open_store
from postroom.message.delivery import Message, Receipt
from postroom.message.outgoing import Outcome, Outgoing
from postroom.message.wishes import AttentionWish, Urgency
from postroom.settings.load import load

SLOTS = [f"{hour:02}:00" for hour in range(24)]
STRANGER = "77"  # has no policy
_PASSIVE = AttentionWish(urgency=Urgency.PASSIVE)


class DigestChannel(NoChannel):
    """Says when it was handed a digest."""

    def __init__(self) -> None:
        super().__init__()
        self.handed: asyncio.Future[float] | None = None

    async def send(self, part: Message, timeout_seconds: float) -> Receipt:
        if self.handed is not None and not self.handed.done() and " notices" in part.text:
            self.handed.set_result(time.perf_counter())
        return Receipt("1")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionHouse:
    attention: Attention
    plane: Plane
    channel: DigestChannel
    clock: OffsetClock
    writes: list[int] = field(default_factory=list)  # one for each transaction that writes

    async def owner(self) -> str:
        found = await self.attention.book.people.owner()
        assert found is not None
        return found

    async def collect(self) -> None:
        """From now on what is passive waits for the full hour."""
        await self.attention.set_policy(await self.owner(), parse_policy({"slots": SLOTS}))

    async def notify(self, number: int, *, recipient: str | None = None) -> Outcome:
        return await self.plane.submit(message(number, recipient), request_id=f"r{number}", wait_seconds=0)


def message(number: int, recipient: str | None = None) -> Outgoing:
    return Outgoing(
        origin_butler=f"butler{number % 4}",
        channel="telegram",
        message=f"message {number} " + "x" * 120,
        recipient=recipient,
        idempotency_key=f"key {number}",
        wish=_PASSIVE,
    )


@asynccontextmanager
async def attention_house(home: Path, database: str) -> AsyncIterator[AttentionHouse]:
    settings, _ = load({}, overrides(home, database))
    clock, channel = OffsetClock(), DigestChannel()
    async with open_store(settings) as store:
        world = world_of(settings, store, clock=clock)
        attention = build_attention(world)
        async with attending(world, attention, running_plane(world, {"telegram": channel})) as plane:
            writes = _counted(store)
            yield AttentionHouse(attention=attention, plane=plane, channel=channel, clock=clock, writes=writes)


def _counted(store: Store) -> list[int]:
    writes: list[int] = []
    write = store.database.write

    async def counted(work: Any) -> Any:
        writes.append(1)
        return await write(work)

    store.database.write = counted  # type: ignore[method-assign]
    return writes
