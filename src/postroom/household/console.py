"""The console: what its pages are made from, and what goes on while none is open."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from starlette.applications import Starlette

from postroom.approvals.approvals import Approvals
from postroom.attention.attention import Attention
from postroom.console.live import Bulk, Changes, HouseholdPulse
from postroom.household.peers import WayTo
from postroom.household.questions import AskingParts
from postroom.household.store import World
from postroom.inbox.inbox import Inbox
from postroom.kernel.running.loop import Loops, Signal
from postroom.kernel.serving.servers import WhenAsked
from postroom.kernel.values.principal import OPERATOR
from postroom.message.channel import Outbound
from postroom.people.signing_in.store import ConsoleSessions
from postroom.questions.questions import Asking
from postroom.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleParts:
    """What the pages are made from."""

    world: World
    inbox: Inbox
    asking: Asking
    attention: Attention
    messenger: WayTo
    outbound: Outbound | None = None  # the household's own way out
    approvals: Approvals | None = None  # of the messenger, where it runs in this process
    sandbox_url: str | None = None  # of its page, in sandbox mode
    silent: str = ""  # why no butler can answer people


MakesPages = Callable[[ConsoleParts, Changes, Bulk], Starlette]


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    app: WhenAsked[Starlette]
    changes: Changes


@asynccontextmanager
async def running_console(parts: ConsoleParts, pages: MakesPages) -> AsyncIterator[Console]:
    """Its hundred modules are imported for the first page that somebody opens: many households run without any."""
    store, loops = parts.world.store, parts.world.loops
    pulse = HouseholdPulse(store.overview, parts.inbox.notes, store.question_figures, store.talk_pulse)
    changes, bulk = Changes(pulse, parts.world.clock), Bulk(lambda: secrets.token_urlsafe(12))

    async with loops.running("console_changes", changes.look, wake=changes.anybody, stopping=changes.stopping):
        try:
            yield Console(app=WhenAsked(lambda: pages(parts, changes, bulk)), changes=changes)
        finally:
            changes.stop()
            await bulk.close()


async def operators_link(world: World, base_url: str) -> str:
    sessions = ConsoleSessions(world.store.database, world.tokens)
    return await sessions.link(base_url, OPERATOR, world.clock.now_us())


# What of a household runs in this process, and where it is reached.


@dataclass(slots=True, kw_only=True)
class RunningHousehold:
    """What runs where."""

    settings: Settings
    parts: tuple[str, ...]
    loops: Loops
    addresses: dict[str, str] = field(default_factory=dict)
    inbox: Inbox | None = None
    asking: AskingParts | None = None
    attention: Attention | None = None
    links_due: Signal = field(default_factory=Signal)  # rung for the one who sends links to the console
    sign_in: Callable[[], Awaitable[str]] | None = None  # a new link to the console, for the operator
