"""
A household whose butler `general` works through a model: sandbox, messenger, switchboard, one butler.

As a program it is told by its arguments where everything is, prints a line when
it is up, and then stores the request it reads from its input, if any.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.counted import CountedLoops
from tests.support.worlds import world_of

from postroom.butlers.daemon import build_server
from postroom.butlers.runtimes.process import ProcessPrograms
from postroom.butlers.runtimes.programs import RUNTIMES
from postroom.butlers.sessions import ModelSettings, SessionLimits, SessionParts, Sessions
from postroom.butlers.store import StoredSessions
from postroom.household.attention import build_attention
from postroom.household.butlers import build_butler, start_sessions
from postroom.household.console import RunningHousehold
from postroom.household.household import running
from postroom.household.peers import OverMcp
from postroom.household.ports import butler_app
from postroom.household.store import open_store
from postroom.kernel.guard.tokens import SessionTokens, TokenFile
from postroom.kernel.running import telemetry
from postroom.kernel.running.clock import Clock, SystemClock
from postroom.kernel.serving.servers import bind, port_of, serving
from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.settings import Settings
from postroom.settings.model import Ports
from postroom.settings.peer import HttpPeer
from postroom.settings.roster import parse_butler

PARTS = ("sandbox", "messenger", "switchboard")
GENERAL = {"butler": {"name": "general", "port": 0, "db": {"name": "butlers", "schema": "general"}}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    household: RunningHousehold
    sessions: Sessions
    tokens: SessionTokens
    url: str


@asynccontextmanager
async def butler_with_model(
    home: Path,
    path: str,
    runtime: str,
    limits: SessionLimits,
    credentials: dict[str, str] | None = None,
    session_clock: Clock | None = None,
    arguments: Sequence[str] = (),
    model: str | None = None,
) -> AsyncIterator[Running]:
    zeros = Ports(switchboard=0, general=0, health=0, messenger=0, api=0, sandbox=0, sandbox_smtp=0, sandbox_imap=0)
    settings = Settings(home=home, ports=zeros)
    clock, mint = SystemClock(), IdMint()
    async with AsyncExitStack() as stack:
        household = await stack.enter_async_context(running(settings, PARTS))
        store = await stack.enter_async_context(open_store(settings))
        file = TokenFile(settings.tokens_file)
        tokens = SessionTokens("general", file)
        listener = bind("general", "127.0.0.1", 0)
        stack.callback(listener.close)
        url = f"http://127.0.0.1:{port_of(listener)}/mcp"
        sessions = Sessions(
            ModelSettings(
                butler="general",
                description="Looks after everything.",
                runtime=RUNTIMES[runtime],
                mcp_url=url,
                workspace=home / "sessions" / "general",
                credentials=credentials or {},
                arguments=arguments,
                model=model,
            ),
            limits,
            SessionParts(
                store=StoredSessions(store.database),
                tokens=tokens,
                programs=ProcessPrograms(path=path, clock=session_clock or clock),
                clock=session_clock or clock,
                mint=mint.mint,
            ),
        )
        token = file.token_of(Principal(Role.BUTLER, "general")) or ""
        peer = HttpPeer("switchboard", household.addresses["switchboard"], token)
        stack.push_async_callback(peer.close)
        config = parse_butler(GENERAL, {}, file="general/butler.toml")
        world = world_of(settings, store, clock=clock, roster=[config], stack=stack)
        world.endpoints.bound("general", port_of(listener))
        butler = build_butler(
            config,
            world,
            outbound=OverMcp("switchboard", peer, clock),
            attention=build_attention(world),
            sessions=sessions,
            verifier=tokens,
        )
        app = butler_app(build_server(butler), tokens, settings)
        await stack.enter_async_context(serving(app, listener))
        await start_sessions("general", sessions, stack, CountedLoops(session_clock or clock))
        yield Running(household=household, sessions=sessions, tokens=tokens, url=url)


async def main(home: Path, path: str, request: dict[str, Any] | None) -> None:
    telemetry.configure_log("ERROR")
    async with butler_with_model(home, path, "codex", SessionLimits(concurrent=1)) as butler:
        if request:
            session = await butler.sessions.submit(request["prompt"], trigger="trigger", caller=OPERATOR)
            print(session.id, flush=True)
        print("up", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    text = sys.argv[3]
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], json.loads(text) if text else None))
