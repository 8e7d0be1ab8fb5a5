"""A delivery plane with every check switched on, limits lifted, and a channel that does nothing."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from postroom.delivery.accept import Acceptance, Plane
from postroom.delivery.afterwards.store import StoredSent
from postroom.delivery.dispatcher import Dispatcher, Outcomes, Recovery
from postroom.delivery.pipeline import Pipeline
from postroom.delivery.reading.meter import DeliveryMeter
from postroom.delivery.rules.limits import LimitPolicy
from postroom.delivery.rules.policy import DeliveryPolicy
from postroom.delivery.rules.target import as_it_stands
from postroom.delivery.store.ledger import DeliveryLedger
from postroom.delivery.store.limits import MemoryBreakers, MemoryLimits, StoredCircuits
from postroom.delivery.store.postgres import PostgresLedger
from postroom.delivery.store.sqlite import SqliteLedger
from postroom.household.delivery import dispatching
from postroom.kernel.database.engine import Database
from postroom.kernel.database.postgres import PostgresDatabase
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.running.loop import Loops
from postroom.kernel.running.telemetry import LoopMeter
from postroom.kernel.values.ids import IdMint
from postroom.message.delivery import Message, Receipt
from postroom.settings.accounts import channel_kind

LIFTED = 10**9


class NoChannel:
    """Takes everything and does nothing, so that what is measured is ours; remembers when it was called."""

    name = "telegram"
    capabilities = channel_kind("telegram").capabilities

    def __init__(self) -> None:
        self.called_at_us: dict[str, int] = {}
        self.clock = SystemClock()

    def address(self, text: str) -> str | None:
        return text

    def prepare(self, message: Message) -> Sequence[Any]:
        return (message,)

    async def send(self, part: Message, timeout_seconds: float) -> Receipt:
        self.called_at_us[part.text] = self.clock.now_us()
        return Receipt("1")

    async def close(self) -> None:
        """Nothing to close."""


class Nobody:
    async def addresses(self, name: str, channel: str) -> Sequence[str]:
        return ()

    async def owner(self, channel: str) -> str | None:
        return None

    async def channels_of(self, name: str | None) -> Sequence[str]:
        return ()


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[tuple[Database, DeliveryLedger]]:
    database: SqliteDatabase | PostgresDatabase
    if url.startswith("sqlite"):
        database = SqliteDatabase(Path(url.removeprefix("sqlite:///")))
        ledger: DeliveryLedger = SqliteLedger(database)
    else:
        database = PostgresDatabase(url)
        ledger = PostgresLedger(database)
    await database.migrate()
    try:
        yield database, ledger
    finally:
        await database.close()


@asynccontextmanager
async def running(url: str, channel: NoChannel, *, slots: int = 256) -> AsyncIterator[Plane]:
    clock, mint = SystemClock(), IdMint()
    policy = DeliveryPolicy(
        limits=LimitPolicy(
            global_per_minute=LIFTED,
            in_flight=LIFTED,
            recipient_per_minute=LIFTED,
            channels={"telegram.bot": LIFTED},
        ),
        spacing_seconds={},
        slots_per_channel=slots,
    )
    async with opened(url) as (database, ledger):
        limits = MemoryLimits(clock)
        breakers = MemoryBreakers(policy.breaker, clock, lambda: str(random.random()))
        registry = CollectorRegistry()
        meter = DeliveryMeter(registry)
        outcomes = Outcomes(ledger, clock)
        channels: Mapping[str, Any] = {"telegram": channel}
        stopping = asyncio.Event()
        pipeline = Pipeline(
            ledger=ledger,
            as_it_stands=partial(as_it_stands, StoredSent(database).sent),
            channels=channels,
            limits=limits,
            breakers=breakers,
            circuits=StoredCircuits(database),
            policy=policy,
            clock=clock,
            meter=meter,
            dice=random.random,
            mint=mint.mint,
            stopping=stopping,
        )
        recovery = Recovery(
            ledger=ledger,
            limits=limits,
            retry=policy.retry,
            clock=clock,
            meter=meter,
            dice=random.random,
            mint=mint.mint,
            can={name: channel.capabilities for name, channel in channels.items()},
        )
        dispatcher = Dispatcher(
            ledger=ledger,
            channels=channels,
            pipeline=pipeline,
            recovery=recovery,
            outcomes=outcomes,
            policy=policy,
            clock=clock,
            meter=meter,
            stopping=stopping,
        )
        acceptance = Acceptance(
            ledger=ledger,
            channels=channels,
            book=Nobody(),
            sent=StoredSent(database),
            limits=limits,
            breakers=breakers,
            policy=policy,
            pipeline=pipeline,
            dispatcher=dispatcher,
            clock=clock,
            meter=meter,
            mint=mint.mint,
        )
        await dispatcher.start()
        plane = Plane(
            acceptance=acceptance,
            dispatcher=dispatcher,
            outcomes=outcomes,
            known_channels={name: channel_kind(name).capabilities for name in channels},
        )
        async with dispatching(plane, Loops(clock, LoopMeter(registry).failed), drain_seconds=30):
            yield plane


def envelope(number: int) -> dict[str, Any]:
    return {
        "schema_version": "notify.v1",
        "origin_butler": f"butler{number % 4}",
        "delivery": {
            "intent": "send",
            "channel": "telegram",
            "message": f"message {number} " + "x" * 120,
            "recipient": str(100_000 + number % 5_000),
        },
    }
