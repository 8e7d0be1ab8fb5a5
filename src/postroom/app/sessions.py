"""Give a butler its model, if its file names one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack

from postroom.app.known_channels import known_channels
from postroom.domain.ids import IdMint
from postroom.domain.ports import Clock
from postroom.domain.runtime import Runtime
from postroom.doors.butler.daemon import ButlerSessions
from postroom.doors.guard.session_tokens import SessionTokens
from postroom.system.loop import Loops
from postroom.system.roster.config import ButlerConfig
from postroom.system.roster.endpoints import Endpoints
from postroom.system.settings import Settings
from postroom.work.butlers.no_sessions import NoSessions
from postroom.work.butlers.sessions import ModelSettings, SessionLimits, SessionParts, Sessions
from postroom.world.runtimes.catalogue import RUNTIMES
from postroom.world.runtimes.process import ProcessPrograms
from postroom.world.store.butlers.sessions import StoredSessions
from postroom.world.store.conversations.said import StoredTalk
from postroom.world.store.engine.database import Database


def build_sessions(
    config: ButlerConfig,
    settings: Settings,
    endpoints: Endpoints,
    database: Database,
    tokens: SessionTokens,
    environment: Mapping[str, str],
    clock: Clock,
    mint: IdMint,
) -> Sessions | NoSessions:
    if config.runtime.type == "none":
        return NoSessions(config.name)
    limits, runtime = config.butler.runtime, RUNTIMES[config.runtime.type]
    return Sessions(
        ModelSettings(
            butler=config.name,
            description=config.butler.description,
            runtime=runtime,
            mcp_url=endpoints.url(config.name) or "",
            workspace=settings.home / "sessions" / config.name,
            conversations=frozenset(name for name, can in known_channels(settings).items() if can.replies),
            model=limits.model,
            arguments=limits.args,
            credentials=credentials_of(config, runtime, environment),
        ),
        SessionLimits(
            concurrent=limits.max_concurrent_sessions,
            queued=limits.max_queued_sessions,
            timeout_seconds=limits.timeout_seconds,
        ),
        SessionParts(
            store=StoredSessions(database),
            tokens=tokens,
            programs=ProcessPrograms(path=environment.get("PATH", ""), clock=clock),
            clock=clock,
            mint=mint.mint,
            is_over=StoredTalk(database).is_over,
        ),
    )


async def start_sessions(butler: str, sessions: ButlerSessions, stack: AsyncExitStack, loops: Loops) -> None:
    """After the butler's own server is up, because that is what a session talks to."""
    if isinstance(sessions, Sessions):
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


def credentials_of(config: ButlerConfig, runtime: Runtime, environment: Mapping[str, str]) -> dict[str, str]:
    """What the butler's file names, and what the model's program logs in with."""
    names = (*config.butler.env.required, *config.butler.env.optional, *runtime.credential_names)
    return {name: environment[name] for name in names if environment.get(name)}
