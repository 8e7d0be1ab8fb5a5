"""Every route of the console, asked of the application itself, so that a new one cannot be forgotten."""

from __future__ import annotations

import re

from starlette.routing import Route

from postroom.household.console import ConsoleParts, running_console
from postroom.household.console_pages import console_pages
from postroom.household.store import connect_store
from tests.household.living import Living
from tests.support.worlds import world_of


async def routes(home: Living, method: str) -> list[str]:
    """The paths below /console, as the routes spell them."""
    store, inbox, asking = connect_store(home.settings), home.household.inbox, home.household.asking
    attention = home.household.attention
    assert inbox is not None and asking is not None and attention is not None
    world = world_of(home.settings, store)
    parts = ConsoleParts(
        world=world,
        inbox=inbox,
        asking=asking.asking,
        attention=attention,
        messenger=world.peers.to("messenger"),
        sandbox_url=home.household.addresses["sandbox"],
    )
    try:
        async with running_console(parts, console_pages) as console:
            application = await console.app.application()
            known = [route for route in application.routes if isinstance(route, Route)]
            return [route.path for route in known if method in (route.methods or ())]
    finally:
        await store.database.close()


def filled(path: str, value: str = "00000000-0000-7000-8000-000000000000") -> str:
    """With something in the place of every parameter."""
    return re.sub(r"\{[^}]+\}", value, path)


def pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{[^}]+\}", "[^/]+", re.escape(path).replace(r"\{", "{").replace(r"\}", "}")))
