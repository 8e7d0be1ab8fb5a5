"""Put the delivery plane together, and keep it running."""

from __future__ import annotations

import asyncio
import os
import random
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial

from prometheus_client import CollectorRegistry

from postroom.app.approvals import build_gate
from postroom.app.files import carried_files
from postroom.app.known_channels import known_channels
from postroom.app.people_seeds import keep_in_step
from postroom.app.policy import delivery_policy
from postroom.app.shared_state import SharedState, shared_state
from postroom.app.store import OpenedStore
from postroom.domain.capabilities import KnownChannels
from postroom.domain.clock import Clock
from postroom.domain.errors import StoreUnavailable
from postroom.domain.ids import DeliveryId, IdMint
from postroom.domain.living_worker import LivingWorker
from postroom.domain.ports import Channel
from postroom.domain.seams import Ledger, Limits, Meter
from postroom.system.clock import SystemClock
from postroom.system.loop import Loops
from postroom.system.settings import Settings
from postroom.system.telemetry.meter import DeliveryMeter
from postroom.work.delivery.accept import Acceptance
from postroom.work.delivery.dispatcher import Dispatcher
from postroom.work.delivery.first_write import FirstWrite
from postroom.work.delivery.outcomes import Outcomes
from postroom.work.delivery.pipeline import Pipeline
from postroom.work.delivery.plane import Plane
from postroom.work.delivery.policy import DeliveryPolicy
from postroom.work.delivery.recovery import Recovery
from postroom.work.delivery.revision import as_it_stands
from postroom.work.delivery.settled_elsewhere import SettledElsewhere
from postroom.work.people.household_people import HouseholdPeople
from postroom.world.store.conversations.inbound import StoredInbound
from postroom.world.store.deliveries.sent import StoredSent
from postroom.world.store.deliveries.terminal_ids import settled_among
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.sole_worker import sole_worker
from postroom.world.store.engine.sqlite import SqliteDatabase
from postroom.world.store.inbox.preferences import StoredPreferences
from postroom.world.store.people.closed_addresses import StoredClosedAddresses
from postroom.world.store.shared.circuits import StoredCircuits
from postroom.world.store.shared.limits_memory import MemoryLimits
from postroom.world.store.shared.workers import WorkerPulse

DRAIN_SECONDS = 5.0


def build_plane(
    settings: Settings,
    store: OpenedStore,
    channels: Mapping[str, Channel],
    shared: SharedState,
    registry: CollectorRegistry,
    clock: Clock,
    mint: IdMint,
) -> Plane:
    known, people = known_channels(settings, channels), HouseholdPeople(store.people, clock)
    policy = delivery_policy(settings, known)
    meter = DeliveryMeter(registry)
    outcomes = Outcomes(store.ledger, clock)
    stopping = asyncio.Event()
    pipeline = Pipeline(
        ledger=store.ledger,
        as_it_stands=partial(as_it_stands, StoredSent(store.database)),
        channels=channels,
        limits=shared.limits,
        pace=shared.pace,
        breakers=shared.breakers,
        circuits=StoredCircuits(store.database),
        policy=policy,
        clock=clock,
        meter=meter,
        dice=random.random,
        mint=mint.mint,
        stopping=stopping,
    )
    dispatcher = Dispatcher(
        ledger=store.ledger,
        channels=channels,
        pipeline=pipeline,
        recovery=_recovery(store.ledger, shared.limits, policy, clock, meter, mint, known),
        outcomes=outcomes,
        policy=policy,
        clock=clock,
        meter=meter,
        stopping=stopping,
    )
    acceptance = Acceptance(
        ledger=store.ledger,
        channels=channels,
        book=people,
        sent=StoredSent(store.database),
        limits=shared.limits,
        breakers=shared.breakers,
        policy=policy,
        writer=FirstWrite(ledger=store.ledger, dispatcher=dispatcher, pipeline=pipeline, clock=clock),
        dispatcher=dispatcher,
        clock=clock,
        meter=meter,
        mint=mint.mint,
        files=carried_files(store, clock),
        gate=build_gate(settings, store.database, people, channels, mint, StoredPreferences(store.database)),
        closed=StoredClosedAddresses(store.database),
        letters=StoredInbound(store.database, mint.mint),
    )
    return Plane(acceptance=acceptance, dispatcher=dispatcher, outcomes=outcomes, known_channels=known)


def _recovery(
    ledger: Ledger,
    limits: Limits,
    policy: DeliveryPolicy,
    clock: Clock,
    meter: Meter,
    mint: IdMint,
    known: KnownChannels,
) -> Recovery:
    return Recovery(
        ledger=ledger,
        limits=limits,
        retry=policy.retry,
        clock=clock,
        meter=meter,
        dice=random.random,
        mint=mint.mint,
        can=known,
    )


@asynccontextmanager
async def running_plane(
    settings: Settings,
    store: OpenedStore,
    channels: Mapping[str, Channel],
    registry: CollectorRegistry,
    clock: SystemClock,
    mint: IdMint,
    loops: Loops,
) -> AsyncIterator[Plane]:
    """Recovers first, works until told to stop, then drains: nothing is cut off in the middle of a call."""
    async with sole_worker(settings), shared_state(settings, clock) as shared:
        for name, circuit in (await StoredCircuits(store.database).load()).items():
            await shared.breakers.restore(name, circuit)
        await keep_in_step(settings, store.people, clock.now_us())
        plane = build_plane(settings, store, channels, shared, registry, clock, mint)
        await plane.dispatcher.start()
        try:
            async with (
                dispatching(plane, loops),
                store.listening(plane.dispatcher.wake, settled_elsewhere(plane, store.database, shared.limits), loops),
            ):
                yield plane
        finally:
            for channel in channels.values():
                await channel.close()


@asynccontextmanager
async def showing_life(database: Database, clock: Clock, loops: Loops, *, alone: bool) -> AsyncIterator[None]:
    """On PostgreSQL, where several may send, doctor and Health show which do; a file may be full, which is said."""
    if isinstance(database, SqliteDatabase):
        async with loops.running("store:writes", database.look, wake=database.refused):
            yield
        return
    now_us = clock.now_us()
    worker = LivingWorker(name=f"{socket.gethostname()} ({os.getpid()})", alone=alone, since_us=now_us, seen_us=now_us)
    pulse = WorkerPulse(database=database, clock=clock, worker=worker)
    async with loops.running("worker:pulse", pulse.look):
        yield
    with suppress(StoreUnavailable):
        await pulse.stop()


@asynccontextmanager
async def dispatching(plane: Plane, loops: Loops, drain_seconds: float = DRAIN_SECONDS) -> AsyncIterator[None]:
    dispatcher = plane.dispatcher
    async with loops.running("dispatcher", dispatcher.look, wake=dispatcher.woken, stopping=dispatcher.stopping):
        try:
            yield
        finally:
            await plane.stop(drain_seconds)


def settled_elsewhere(
    plane: Plane, database: Database, limits: Limits
) -> Callable[[list[DeliveryId] | None], Awaitable[None]]:
    return SettledElsewhere(
        dispatcher=plane.dispatcher,
        outcomes=plane.outcomes,
        limits=limits,
        over=partial(_over, database, limits) if isinstance(limits, MemoryLimits) else None,
    ).heard


async def _over(database: Database, limits: MemoryLimits) -> list[DeliveryId]:
    held = limits.held
    return await database.read(lambda read: settled_among(read, held))
