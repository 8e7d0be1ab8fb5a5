"""The console: what its pages are made from, and what goes on while none is open."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.applications import Starlette

from postroom.app.console_world import ConsoleWorld
from postroom.domain.principal import OPERATOR
from postroom.doors.console.bulk import Bulk
from postroom.doors.console.changes import Changes
from postroom.doors.console.pulse import HouseholdPulse
from postroom.doors.console.sign_in_link import sign_in_link
from postroom.system.loop import Loops
from postroom.system.serving.when_asked import WhenAsked
from postroom.world.store.conversations.pulse import TalkPulse
from postroom.world.store.deliveries.overview import StoredOverview
from postroom.world.store.questions.figures import QuestionFigures
from postroom.world.store.shared.console_sessions import StoredConsoleSessions


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
