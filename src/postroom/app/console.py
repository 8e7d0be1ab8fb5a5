"""The console: what its pages are made from, and what goes on while none is open."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from starlette.applications import Starlette

from postroom.app.inbox import Inbox
from postroom.app.store import OpenedStore
from postroom.domain.clock import Clock
from postroom.domain.ids import IdMint
from postroom.domain.ports import Outbound
from postroom.domain.principal import OPERATOR
from postroom.doors.console.bulk import Bulk
from postroom.doors.console.changes import Changes
from postroom.doors.console.pulse import HouseholdPulse
from postroom.doors.console.sign_in_link import sign_in_link
from postroom.doors.guard.tokens import TokenFile
from postroom.system.loop import Loops
from postroom.system.serving.when_asked import WhenAsked
from postroom.system.settings import Settings
from postroom.system.signal import Signal
from postroom.work.approvals.approvals import Approvals
from postroom.work.attention.attention import Attention
from postroom.work.questions.asking import Asking
from postroom.world.peers.http import HttpPeer
from postroom.world.peers.memory import MemoryPeer
from postroom.world.peers.nobody import Nobody
from postroom.world.store.conversations.pulse import TalkPulse
from postroom.world.store.deliveries.overview import StoredOverview
from postroom.world.store.questions.figures import QuestionFigures
from postroom.world.store.shared.console_sessions import StoredConsoleSessions


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleWorld:
    """What the pages are made from."""

    settings: Settings
    store: OpenedStore
    inbox: Inbox
    asking: Asking
    attention: Attention
    tokens: TokenFile
    clock: Clock
    messenger: MemoryPeer | HttpPeer | Nobody
    mint: IdMint
    outbound: Outbound | None = None  # the household's own way out
    approvals: Approvals | None = None  # of the messenger, where it runs in this process
    sandbox_url: str | None = None  # of its page, in sandbox mode
    silent: str = ""  # why no butler can answer people
    pages_url: str = ""  # where people reach the console
    links_due: Signal = field(default_factory=Signal)  # rung for the one who sends sign-in links


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    app: WhenAsked[Starlette]
    changes: Changes


@asynccontextmanager
async def running_console(world: ConsoleWorld, loops: Loops) -> AsyncIterator[Console]:
    """Its hundred modules are imported for the first page that somebody opens: many households run without any."""
    database = world.store.database
    pulse = HouseholdPulse(StoredOverview(database), world.inbox.notes, QuestionFigures(database), TalkPulse(database))
    changes, bulk = Changes(pulse, world.clock), Bulk(lambda: secrets.token_urlsafe(12))

    def pages() -> Starlette:
        from postroom.app.console_pages import console_pages

        return console_pages(world, changes, bulk, loops.failing)

    async with loops.running("console_changes", changes.look, wake=changes.anybody, stopping=changes.stopping):
        try:
            yield Console(app=WhenAsked(pages), changes=changes)
        finally:
            changes.stop()
            await bulk.close()


async def operators_link(world: ConsoleWorld, base_url: str) -> str:
    links = StoredConsoleSessions(world.store.database)
    return await sign_in_link(links, world.tokens, base_url, OPERATOR, world.clock.now_us())
