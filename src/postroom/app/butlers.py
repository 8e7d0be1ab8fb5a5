"""Put a butler together: configuration, memory, appointments, sessions, modules."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from postroom.app.known_channels import known_channels
from postroom.app.peers import Peers
from postroom.domain.ids import IdMint
from postroom.domain.ports import Clock, Outbound, Peer
from postroom.domain.principal import Principal, Role
from postroom.doors.butler.daemon import Butler, ButlerSessions
from postroom.doors.butler.heartbeat import heartbeats
from postroom.doors.butler.modules.loading import LoadedModules
from postroom.doors.butler.notify import NotifyArguments, notify
from postroom.doors.butler.session_answers import accepted
from postroom.doors.guard.http import Verifier
from postroom.system.loop import Loops
from postroom.system.roster.config import ButlerConfig
from postroom.system.roster.endpoints import Endpoints
from postroom.system.settings import Settings
from postroom.work.butlers.scheduler import Scheduler
from postroom.world.store.butlers.appointments import StoredAppointments
from postroom.world.store.butlers.state import StoredState
from postroom.world.store.engine.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class ButlerWorld:
    """What all butlers of one process share."""

    settings: Settings
    database: Database
    endpoints: Endpoints
    peers: Peers
    clock: Clock
    mint: IdMint
    environment: Mapping[str, str]


def build_butler(
    config: ButlerConfig,
    world: ButlerWorld,
    *,
    outbound: Outbound,
    switchboard: Peer,
    sessions: ButlerSessions,
    modules: LoadedModules,
    verifier: Verifier,
) -> Butler:
    wait, channels = world.settings.delivery.notify_wait_seconds, known_channels(world.settings)

    async def by_appointment(arguments: Mapping[str, Any]) -> dict[str, Any]:
        return await notify(
            NotifyArguments(**arguments),
            origin_butler=config.name,
            request_id=world.mint.mint(world.clock.now_us()),
            channels=channels,
            outbound=outbound,
            switchboard=switchboard,
            default_wait_seconds=wait,
        )

    async def trigger(prompt: str, source: str) -> dict[str, Any]:
        by = Principal(Role.BUTLER, config.name)
        return accepted(await sessions.submit(prompt, trigger=source, caller=by))

    scheduler = Scheduler(
        butler=config.name,
        schedules=config.butler.schedule,
        appointments=StoredAppointments(world.database, config.name),
        clock=world.clock,
        mint=world.mint.mint,
        notify=by_appointment,
        trigger=trigger,
    )
    return Butler(
        config=config,
        port=world.endpoints.port(config.name),
        outbound=outbound,
        switchboard=switchboard,
        state=StoredState(world.database, config.name),
        sessions=sessions,
        modules=modules,
        verifier=verifier,
        scheduler=scheduler,
        clock=world.clock,
        mint=world.mint.mint,
        channels=channels,
        notify_wait_seconds=wait,
        started_at_us=world.clock.now_us(),
    )


@asynccontextmanager
async def living(butler: Butler, world: ButlerWorld, loops: Loops) -> AsyncIterator[None]:
    """Keeps its appointments and lets the switchboard know that it is there."""
    async with AsyncExitStack() as stack:
        if butler.config.name != "messenger":
            scheduler = butler.scheduler
            await scheduler.start()
            await stack.enter_async_context(
                loops.running(f"scheduler:{butler.name}", scheduler.look, wake=scheduler.changed)
            )
        if butler.name != "switchboard":
            await stack.enter_async_context(
                heartbeats(
                    world.peers.to("switchboard", caller=butler.name),
                    butler=butler.name,
                    description=butler.config.butler.description,
                    modules=tuple(butler.config.modules),
                    clock=world.clock,
                    loops=loops,
                )
            )
        yield
