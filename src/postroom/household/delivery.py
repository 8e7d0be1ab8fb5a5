"""The delivery plane put together and kept running, and those who look into its ledger."""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

from prometheus_client import CollectorRegistry

from postroom.attention.attention import Attention, NoticeOutcomes
from postroom.attention.reading import NoticeReading
from postroom.attention.turn import HouseholdNames, NoticeBook
from postroom.butlers.messenger.desk import ChannelTools, CorrectionDesk, MessengerDesk
from postroom.delivery.accept import Acceptance, Plane, SettledElsewhere
from postroom.delivery.afterwards.corrections import Corrections
from postroom.delivery.afterwards.dead_letters import DeadLetters
from postroom.delivery.dispatcher import Dispatcher, Outcomes, Recovery
from postroom.delivery.files.taking import CarriedFiles
from postroom.delivery.pipeline import Pipeline
from postroom.delivery.reading.counts import DeliveryHealth
from postroom.delivery.reading.meter import DeliveryMeter
from postroom.delivery.reading.search import settled_among
from postroom.delivery.rules.breaker import BreakerPolicy
from postroom.delivery.rules.limits import SCOPES, LimitPolicy
from postroom.delivery.rules.policy import DeliveryPolicy
from postroom.delivery.rules.retry import RetryPolicy
from postroom.delivery.rules.target import as_it_stands
from postroom.delivery.seams import Breakers, Limits
from postroom.delivery.store.limits import MemoryBreakers, MemoryLimits
from postroom.delivery.workers import LivingWorker, WorkerPulse
from postroom.household.attention import household_policy
from postroom.household.channels import known_channels
from postroom.household.people import keep_in_step
from postroom.household.questions import build_gate
from postroom.household.store import KEY_PREFIX, Premises, Store, World, connected, redis_client
from postroom.inbox.model import Terms
from postroom.kernel.database.engine import Database
from postroom.kernel.database.schema import known_revision
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.kernel.running.clock import Clock, SystemClock
from postroom.kernel.running.loop import Loops
from postroom.kernel.values.errors import SettingsError, StoreUnavailable
from postroom.kernel.values.ids import DeliveryId
from postroom.message.channel import Channel, KnownChannels
from postroom.overview.lookups import Lookups
from postroom.overview.tracking import DryRun, SenderStatus, Tracking
from postroom.people.people import HouseholdPeople
from postroom.settings import Settings
from postroom.settings.listeners import sole_worker

# What the messenger's tools work with: the plane itself, and the record it wrote.


def messenger_desk(
    place: Premises, plane: Plane, corrections: CorrectionDesk, attention: Attention | None = None
) -> MessengerDesk:
    """The same limits, circuits, book and channels the plane decides with: a figure shown is the figure used."""
    path, names, store, clock = plane.acceptance, frozenset(plane.known_channels), place.store, place.clock
    return MessengerDesk(
        corrections=corrections,
        channel_tools=ChannelTools(
            plane=plane, clock=clock, mint=store.ids.mint, wait_seconds=corrections.wait_seconds
        ),
        tracking=Tracking(record=store.deliveries, channel_names=names),
        dead_letters=DeadLetters(
            record=store.dead_letters,
            channels=path.channels,
            channel_names=names,
            hand_over=plane.dispatcher.wake,
            clock=clock,
            mint=store.ids.mint,
        ),
        health=DeliveryHealth(
            record=store.figures,
            limits=path.limits,
            breakers=path.breakers,
            policy=path.policy,
            channels=path.channels,
            channel_names=names,
            clock=clock,
        ),
        dry_run=DryRun(
            acceptance=path,
            known_channels=plane.known_channels,
            clock=clock,
            mint=store.ids.mint,
            attention=attention,
        ),
    )


def correction_desk(place: Premises, plane: Plane, attention: Attention, closed: Callable[[], None]) -> CorrectionDesk:
    """`closed` wakes whoever closes the cards of what needs no answer any more."""
    return CorrectionDesk(
        corrections=Corrections(plane=plane, record=place.store.corrections, closed=closed),
        clock=place.clock,
        mint=place.store.ids.mint,
        wait_seconds=place.settings.delivery.notify_wait_seconds,
        attention=attention,
    )


def sender_status(store: Store, attention: Attention | None = None) -> SenderStatus:
    return SenderStatus(
        record=store.deliveries,
        replays=store.ledger,
        notices=NoticeOutcomes(attention=attention) if attention is not None else None,
    )


# Put the delivery plane together, and keep it running.


DRAIN_SECONDS = 5.0


def build_plane(
    place: Premises, channels: Mapping[str, Channel], shared: SharedState, registry: CollectorRegistry
) -> Plane:
    store, clock = place.store, place.clock
    known, people = known_channels(place.settings, channels), HouseholdPeople(store.people, clock)
    policy = delivery_policy(place.settings, known)
    meter = DeliveryMeter(registry)
    outcomes = Outcomes(store.ledger, clock, alone=isinstance(store.database, SqliteDatabase))
    stopping = asyncio.Event()
    pipeline = Pipeline(
        ledger=store.ledger,
        as_it_stands=partial(as_it_stands, store.sent.sent),
        channels=channels,
        limits=shared.limits,
        breakers=shared.breakers,
        circuits=store.circuits,
        policy=policy,
        clock=clock,
        meter=meter,
        dice=random.random,
        mint=store.ids.mint,
        stopping=stopping,
    )
    dispatcher = Dispatcher(
        ledger=store.ledger,
        channels=channels,
        pipeline=pipeline,
        recovery=Recovery(
            ledger=store.ledger,
            limits=shared.limits,
            retry=policy.retry,
            clock=clock,
            meter=meter,
            dice=random.random,
            mint=store.ids.mint,
            can=known,
        ),
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
        sent=store.sent,
        limits=shared.limits,
        breakers=shared.breakers,
        policy=policy,
        pipeline=pipeline,
        dispatcher=dispatcher,
        clock=clock,
        meter=meter,
        mint=store.ids.mint,
        files=CarriedFiles(record=store.uploads, store=store.files, clock=clock),
        gate=build_gate(place, people, channels),
        closed=store.closed_addresses,
        subject_of=store.inbound.subject,
    )
    return Plane(acceptance=acceptance, dispatcher=dispatcher, outcomes=outcomes, known_channels=known)


@asynccontextmanager
async def running_plane(world: World, channels: Mapping[str, Channel]) -> AsyncIterator[Plane]:
    """Recovers first, works until told to stop, then drains: nothing is cut off in the middle of a call."""
    store = world.store
    async with sole_worker(world.settings), shared_state(world.settings, world.clock) as shared:
        for name, circuit in (await store.circuits.load()).items():
            await shared.breakers.restore(name, circuit)
        await keep_in_step(world)
        plane = build_plane(world, channels, shared, world.registry)
        await plane.dispatcher.start()
        settled = settled_elsewhere(plane, store.database, shared.limits)
        try:
            async with (
                dispatching(plane, world.loops),
                store.listening(plane.dispatcher.wake, settled, world.loops),
            ):
                yield plane
        finally:
            for channel in channels.values():
                await channel.close()


@asynccontextmanager
async def showing_life(world: World, *, alone: bool) -> AsyncIterator[None]:
    """On PostgreSQL, where several may send, doctor and Health show which do; a file may be full, which is said."""
    database, clock, loops = world.store.database, world.clock, world.loops
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


# The settings, as the delivery plane understands them.


def delivery_policy(settings: Settings, known: KnownChannels) -> DeliveryPolicy:
    """What a channel asks for stands in `known`, with the household's own numbers in its place where there are any."""
    return DeliveryPolicy(
        limits=_limit_policy(settings, known),
        retry=retry_policy(settings),
        breaker=breaker_policy(settings),
        timeouts_seconds={name: one.timeout_seconds for name, one in known.items() if one.timeout_seconds is not None},
        default_timeout_seconds=settings.timeouts.default_seconds,
        on_uncertain=settings.delivery.on_uncertain,
        on_uncertain_by_channel=settings.delivery.on_uncertain_by_channel,
        spacing_seconds={name: one.spacing_seconds for name, one in known.items()},
        lease_seconds=settings.delivery.lease_seconds,
        sweep_seconds=settings.delivery.sweep_seconds,
        slots_per_channel=settings.delivery.slots_per_channel,
        sign=settings.messages.sign,
        mark_repeats=settings.messages.mark_repeats,
    )


def retry_policy(settings: Settings) -> RetryPolicy:
    retry = settings.retry
    return RetryPolicy(
        max_attempts=retry.max_attempts,
        base_seconds=retry.base_seconds,
        max_seconds=retry.max_seconds,
        jitter=retry.jitter,
        attempts_by_priority=retry.attempts_by_priority,
    )


def breaker_policy(settings: Settings) -> BreakerPolicy:
    breaker = settings.breaker
    return BreakerPolicy(
        failure_threshold=breaker.failure_threshold,
        recovery_seconds=breaker.recovery_seconds,
        half_open_probes=breaker.half_open_probes,
        half_open_successes=breaker.half_open_successes,
    )


def _limit_policy(settings: Settings, known: KnownChannels) -> LimitPolicy:
    limits = settings.limits
    return LimitPolicy(
        global_per_minute=limits.global_per_minute,
        in_flight=limits.in_flight,
        recipient_per_minute=limits.recipient_per_minute,
        reply_multiplier=limits.reply_multiplier,
        channels={**_per_minute(known), **limits.channels},
    )


def _per_minute(known: KnownChannels) -> dict[str, int]:
    scoped = {
        f"{name}.{scope}": limit
        for name, one in known.items()
        for scope, limit in zip(SCOPES, (one.bot_per_minute, one.user_per_minute), strict=True)
    }
    return {scope: limit for scope, limit in scoped.items() if limit is not None}


# What an id means, for a reader.


def build_lookups(place: Premises) -> Lookups:
    settings, store, (policy, _) = place.settings, place.store, household_policy(place.settings)
    book = NoticeBook(store=store.notices, people=HouseholdNames(people=store.people), clock=place.clock)
    return Lookups(
        database=store.database,
        inbound=store.inbound,
        notices=NoticeReading(book=book),
        people=store.people,
        terms=Terms(email_enabled=settings.email_copies_on, household=policy, zone=settings.household.local_zone),
        attempts_for=retry_policy(settings).attempts_for,
        clock=place.clock,
    )


@asynccontextmanager
async def opened_lookups(settings: Settings) -> AsyncIterator[Lookups]:
    """Without a running household."""
    async with connected(settings) as store:
        if await store.database.read(known_revision) is None:
            raise SettingsError("This database is empty: no household has worked on it yet; `postroom up` starts one.")
        yield build_lookups(Premises(settings=settings, store=store, clock=SystemClock()))


# Limits and circuits: in this process, or on Redis for all of them.


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedState:
    limits: Limits
    breakers: Breakers


@asynccontextmanager
async def shared_state(settings: Settings, clock: Clock) -> AsyncIterator[SharedState]:
    policy = breaker_policy(settings)
    if not settings.redis_url:
        limits = MemoryLimits(clock)
        yield SharedState(limits=limits, breakers=MemoryBreakers(policy, clock, _token))
        return
    async with redis_client(settings.redis_url) as client:
        from postroom.delivery.store.limits_redis import RedisBreakers, RedisLimits
        from postroom.kernel.database.redis_script import RedisReach

        reach = RedisReach(client, clock)
        shared = RedisLimits(client, KEY_PREFIX, clock, reach=reach)
        breakers = RedisBreakers(client, KEY_PREFIX, policy, clock, _token, reach=reach)
        yield SharedState(limits=shared, breakers=breakers)


def _token() -> str:
    return secrets.token_hex(8)
