"""Everybody in the household's book, without a running household."""

from __future__ import annotations

from postroom.app.address_book import stored_contacts
from postroom.app.store import open_store
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.contact import Contact
from postroom.domain.ids import IdMint
from postroom.system.settings import Settings

_AT_ONCE = 200


async def all_contacts(settings: Settings) -> list[Contact]:
    found: list[Contact] = []
    async with open_store(settings) as store:
        book = stored_contacts(store.database, IdMint())
        while page := await book.page(HOUSEHOLD_OWNER, after=found[-1].id if found else None, limit=_AT_ONCE):
            found += page
    return sorted(found, key=lambda one: one.name.casefold())
