"""Everybody in the household's book, without a running household."""

from __future__ import annotations

from postroom.app.store import open_store
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.person import Person
from postroom.system.settings import Settings

_AT_ONCE = 200


async def all_contacts(settings: Settings) -> list[Person]:
    found: list[Person] = []
    async with open_store(settings) as store:
        book = store.people
        while page := await book.page(
            HOUSEHOLD_OWNER, after=found[-1].id if found else None, limit=_AT_ONCE, only_contacts=True
        ):
            found += page
    return sorted(found, key=lambda one: one.name.casefold())
