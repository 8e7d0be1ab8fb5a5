"""Put a butler together: configuration, memory, appointments, sessions, modules."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from postroom.attention.attention import Attention
from postroom.butlers.daemon import Butler, heartbeats
from postroom.butlers.loading import calendar_of, credentials_by_name, failing_modules
from postroom.butlers.model import Runtime
from postroom.butlers.runtimes.process import ProcessPrograms
from postroom.butlers.runtimes.programs import RUNTIMES
from postroom.butlers.scheduler import Scheduler
from postroom.butlers.sessions import ModelSettings, SessionLimits, SessionParts, Sessions
from postroom.butlers.store import StoredAppointments, StoredState
from postroom.butlers.switchboard import Registry, Switchboard
from postroom.butlers.wire import CorrectionHop
from postroom.delivery.notify import Notifier
from postroom.delivery.store.rows import StoredRefusedCalls
from postroom.household.channels import known_channels
from postroom.household.delivery import sender_status
from postroom.household.store import SWITCHBOARD, World
from postroom.kernel.guard.http import Verifier
from postroom.kernel.guard.tokens import SessionTokens
from postroom.kernel.running.loop import Loops
from postroom.kernel.values.principal import Principal, Role
from postroom.message.acts import Notify
from postroom.message.channel import Outbound
from postroom.message.outgoing import Outcome
from postroom.settings import Secret
from postroom.settings.roster import MESSENGER, ButlerConfig


def build_butler(
    config: ButlerConfig,
    world: World,
    *,
    outbound: Outbound,
    attention: Attention,
    sessions: Sessions | None,
    verifier: Verifier,
) -> Butler:
    notifier = build_notifier(world, outbound)
    given = {name: Secret(value) for name, value in world.environment.items()}
    environment = given | credentials_by_name(world.settings, config)

    async def by_appointment(arguments: Mapping[str, Any]) -> Outcome:
        request_id = world.store.ids.mint(world.clock.now_us())
        return await notifier.submit(Notify(**arguments), origin_butler=config.name, request_id=request_id)

    async def trigger(prompt: str, source: str) -> None:
        await butler.model().submit(prompt, trigger=source, caller=Principal(Role.BUTLER, config.name))

    scheduler = Scheduler(
        butler=config.name,
        schedules=config.butler.schedule,
        appointments=StoredAppointments(world.store.database, config.name),
        clock=world.clock,
        mint=world.store.ids.mint,
        notify=by_appointment,
        trigger=trigger,
    )
    butler = Butler(
        config=config,
        port=world.endpoints.port(config.name),
        notifier=notifier,
        messages=sender_status(world.store, attention),
        corrections=build_corrections(world),
        state=StoredState(world.store.database, config.name),
        sessions=sessions,
        failing_modules=failing_modules(config, world.settings, environment),
        calendar=calendar_of(config, environment, world.clock),
        verifier=verifier,
        scheduler=scheduler,
        clock=world.clock,
        mint=world.store.ids.mint,
        started_at_us=world.clock.now_us(),
    )
    return butler


def build_notifier(world: World, outbound: Outbound) -> Notifier:
    return Notifier(
        channels=known_channels(world.settings),
        outbound=outbound,
        refusals=StoredRefusedCalls(world.store.database, world.store.ids.mint),
        clock=world.clock,
        default_wait_seconds=world.settings.delivery.notify_wait_seconds,
        files=world.files,
    )


def build_corrections(world: World) -> CorrectionHop:
    return CorrectionHop(messenger=world.peers.to(MESSENGER), clock=world.clock, mint=world.store.ids.mint)


@asynccontextmanager
async def living(butler: Butler, world: World, registry: Registry) -> AsyncIterator[None]:
    """Keeps its appointments and lets the switchboard know that it is there."""
    async with AsyncExitStack() as stack:
        if butler.name != MESSENGER:
            scheduler = butler.scheduler
            await scheduler.start()
            await stack.enter_async_context(
                world.loops.running(f"scheduler:{butler.name}", scheduler.look, wake=scheduler.changed)
            )
        if butler.name != SWITCHBOARD:
            where = world.endpoints.url(butler.name) or ""
            await stack.enter_async_context(heartbeats(butler, registry, where, world.loops))
        yield


# Give a butler its model, if its file names one.


def build_sessions(config: ButlerConfig, world: World, tokens: SessionTokens) -> Sessions | None:
    if config.runtime.type == "none":
        return None
    limits, runtime = config.butler.runtime, RUNTIMES[config.runtime.type]
    return Sessions(
        ModelSettings(
            butler=config.name,
            description=config.butler.description,
            runtime=runtime,
            mcp_url=world.endpoints.url(config.name) or "",
            workspace=world.settings.home / "sessions" / config.name,
            conversations=frozenset(name for name, can in known_channels(world.settings).items() if can.replies),
            model=limits.model,
            arguments=limits.args,
            credentials=credentials_of(config, runtime, world.environment),
        ),
        SessionLimits(
            concurrent=limits.max_concurrent_sessions,
            queued=limits.max_queued_sessions,
            timeout_seconds=limits.timeout_seconds,
        ),
        SessionParts(
            store=world.store.butler_sessions,
            tokens=tokens,
            programs=ProcessPrograms(path=world.environment.get("PATH", ""), clock=world.clock),
            clock=world.clock,
            mint=world.store.ids.mint,
            is_over=world.store.talk.is_over,
        ),
    )


async def start_sessions(butler: str, sessions: Sessions | None, stack: AsyncExitStack, loops: Loops) -> None:
    """After the butler's own server is up, because that is what a session talks to."""
    if sessions is not None:
        has_started = False

        async def look() -> None:
            """The doors are open by now: a store that goes away at this moment ends nothing."""
            nonlocal has_started
            if not has_started:
                await sessions.start()
                has_started = True
            await sessions.look()

        stack.push_async_callback(sessions.stop)
        await stack.enter_async_context(
            loops.running(f"sessions:{butler}", look, wake=sessions.wake, stopping=sessions.stopping)
        )


def cannot_answer(roster: Iterable[ButlerConfig], environment: Mapping[str, str]) -> str:
    """Why no butler on this machine can answer people; empty when one can."""
    able = [one for one in roster if one.name not in (MESSENGER, SWITCHBOARD)]
    wanting = {one.name: _lacks(one, environment) for one in able}
    if not all(wanting.values()):
        return ""
    return "no butler can answer: " + ("; ".join(f"{name}: {why}" for name, why in wanting.items()) or "there is none")


def _lacks(config: ButlerConfig, environment: Mapping[str, str]) -> str:
    if config.runtime.type == "none":
        return "its butler.toml names no [runtime] type"
    runtime = RUNTIMES[config.runtime.type]
    if shutil.which(runtime.name, path=environment.get("PATH", "")) is None:
        return f"the program '{runtime.name}' is not installed"
    given = config.butler.runtime.args or any(environment.get(name) for name in runtime.credential_names)
    return "" if given else f"none of {', '.join(runtime.credential_names)} is set"


def credentials_of(config: ButlerConfig, runtime: Runtime, environment: Mapping[str, str]) -> dict[str, str]:
    """What the butler's file names, and what the model's program logs in with."""
    names = (*config.butler.env.required, *config.butler.env.optional, *runtime.credential_names)
    return {name: environment[name] for name in names if environment.get(name)}


# Put the switchboard together.


def build_board(world: World, registry: Registry) -> Switchboard:
    its_own = Principal(Role.BUTLER, SWITCHBOARD)
    return Switchboard(
        outbound=world.peers.to(MESSENGER, its_own),
        peer_of=lambda one: world.peers.to(one.name, its_own),
        registry=registry,
        refusals=StoredRefusedCalls(world.store.database, world.store.ids.mint),
        channels=known_channels(world.settings),
        clock=world.clock,
        mint=world.store.ids.mint,
    )
