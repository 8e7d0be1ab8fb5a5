"""A household of notices, put together by the app's own builders."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from tests.support.worlds import world_of

from chaos.crash_points import Crash
from chaos.journal import Journal, Step
from chaos.offset_clock import OffsetClock
from chaos.tokens import tokens_in
from chaos.watched_ledger import WatchedLedger
from chaos.worker_process import watched_channels
from postroom.attention.attention import Attention
from postroom.delivery.accept import Plane
from postroom.household.attention import attending, build_attention
from postroom.household.delivery import running_plane
from postroom.household.store import Store, open_store
from postroom.message.delivery import Message, Receipt
from postroom.settings import Settings

_TIMEOUT_SECONDS = 2.0
_meant: ContextVar[Message | None] = ContextVar("meant", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    attention: Attention
    plane: Plane
    store: Store


@asynccontextmanager
async def house(settings: Settings, clock: OffsetClock, journal: Journal, crash: Crash) -> AsyncIterator[House]:
    """Everything that breaks a law is noted before anything is mended."""
    channels = watched_channels(settings, journal, crash, _TIMEOUT_SECONDS)
    for channel in channels.values():
        _dated(channel, clock, journal)
    async with open_store(settings) as store:
        store.ledger = WatchedLedger(store.ledger, journal, crash)
        world = world_of(settings, store, clock=clock)
        attention = build_attention(world)
        for problem in (*(await attention.figures()).unaccounted, *await attention.audit()):
            journal.note(Step.UNACCOUNTED, "-", problem)
        keeping_time = world.loops.running("timekeeper", world.timekeeper.look, wake=world.timekeeper.wake)
        async with keeping_time, attending(world, attention, running_plane(world, channels)) as plane:
            yield House(attention=attention, plane=plane, store=store)


def _dated(channel: Any, clock: OffsetClock, journal: Journal) -> None:
    """From now on it is noted when each notice leaves, by the clock of this process."""
    prepare, send = channel.prepare, channel.send

    def prepared(message: Message) -> Sequence[Any]:
        _meant.set(message)
        parts: Sequence[Any] = prepare(message)
        return parts

    async def sending(part: Any, timeout_seconds: float) -> Receipt:
        message = _meant.get()
        for token in tokens_in(message.text) if message is not None else ():
            journal.note(Step.LEFT, token, f"{channel.name} {clock.now_us()}")
        receipt: Receipt = await send(part, timeout_seconds)
        return receipt

    channel.prepare, channel.send = prepared, sending
