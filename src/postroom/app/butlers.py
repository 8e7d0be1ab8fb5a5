"""Put a butler together: configuration, memory, appointments, sessions, modules."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from postroom.app.known_channels import known_channels
from postroom.app.peers import Peers
from postroom.domain.clock import Clock
from postroom.domain.ids import IdMint
from postroom.domain.outcome import Outcome
from postroom.domain.peer import Peer
from postroom.domain.ports import Outbound
from postroom.domain.principal import Principal, Role
from postroom.doors.butler.daemon import Butler, ButlerSessions
from postroom.doors.butler.heartbeat import heartbeats
from postroom.doors.butler.modules.loading import LoadedModules
from postroom.doors.butler.notify import Notifier, NotifyArguments
from postroom.doors.guard.http import Verifier
from postroom.system.loop import Loops
from postroom.system.roster.config import ButlerConfig
from postroom.system.roster.endpoints import Endpoints
from postroom.system.settings import Settings
from postroom.work.butlers.scheduler import Scheduler
from postroom.work.files.taking import FileTaking
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
    files: FileTaking


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
    notifier = Notifier(
        channels=known_channels(world.settings),
        outbound=outbound,
        switchboard=switchboard,
        default_wait_seconds=world.settings.delivery.notify_wait_seconds,
        files=world.files,
    )

    async def by_appointment(arguments: Mapping[str, Any]) -> Outcome:
        request_id = world.mint.mint(world.clock.now_us())
        return await notifier.submit(NotifyArguments(**arguments), origin_butler=config.name, request_id=request_id)

    async def trigger(prompt: str, source: str) -> None:
        await sessions.submit(prompt, trigger=source, caller=Principal(Role.BUTLER, config.name))

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
        notifier=notifier,
        state=StoredState(world.database, config.name),
        sessions=sessions,
        modules=modules,
        verifier=verifier,
        scheduler=scheduler,
        clock=world.clock,
        mint=world.mint.mint,
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
