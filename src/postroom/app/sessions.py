"""Give a butler its model, if its file names one."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack

from postroom.app.known_channels import known_channels
from postroom.app.parts import SWITCHBOARD
from postroom.domain.clock import Clock
from postroom.domain.ids import IdMint
from postroom.domain.runtime import Runtime
from postroom.doors.butler.daemon import ButlerSessions
from postroom.doors.guard.session_tokens import SessionTokens
from postroom.system.loop import Loops
from postroom.system.roster.config import MESSENGER, ButlerConfig
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
