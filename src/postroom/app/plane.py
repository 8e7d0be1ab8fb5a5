"""Put the delivery plane together, and keep it running."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from prometheus_client import CollectorRegistry

from postroom.app.approvals import build_gate
from postroom.app.channels import known_channels
from postroom.app.people_seeds import keep_in_step
from postroom.app.policy import delivery_policy
from postroom.app.shared_state import SharedState, shared_state
from postroom.app.store import OpenedStore, sole_worker
from postroom.domain.ids import DeliveryId, IdMint
from postroom.domain.ports import Channel, Clock, Limits
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
from postroom.work.people.household_people import HouseholdPeople
from postroom.world.store.deliveries.sent import StoredSent
from postroom.world.store.deliveries.terminal_ids import settled_among
from postroom.world.store.engine.database import Database
from postroom.world.store.inbox.preferences import StoredPreferences
from postroom.world.store.shared.circuits import StoredCircuits
from postroom.world.store.shared.limits_memory import MemoryLimits

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
    policy, people = delivery_policy(settings), HouseholdPeople(store.people, clock)
    meter = DeliveryMeter(registry)
    outcomes = Outcomes(store.ledger, clock)
    pipeline = Pipeline(
        ledger=store.ledger,
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
        stopping=asyncio.Event(),
    )
    dispatcher = Dispatcher(pipeline, outcomes)
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
        gate=build_gate(settings, store.database, people, channels, mint, StoredPreferences(store.database)),
    )
    return Plane(
        acceptance=acceptance, dispatcher=dispatcher, outcomes=outcomes, channel_names=known_channels(settings)
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
    """None: notices may have been missed, so everything of ours is looked at."""

    async def settled(ids: list[DeliveryId] | None) -> None:
        elsewhere = ids
        if ids is not None:  # we hear of our own before any notice
            elsewhere = [one for one in ids if not plane.dispatcher.has_in_hand(one)]
        await plane.outcomes.refresh(elsewhere)
        if isinstance(limits, MemoryLimits):  # on Redis the one who settled has released it
            held = limits.held
            for one in ids if ids is not None else await database.read(lambda read: settled_among(read, held)):
                await limits.release(one)

    return settled
