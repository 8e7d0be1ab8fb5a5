"""A contact book on either database."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import pytest
from tests.clock import FakeClock

from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.people.model import Person
from postroom.people.names.resolve import Resolver
from postroom.people.person_rules import new_contact
from postroom.people.store.people import StoredMemory, StoredPeople


@dataclass(frozen=True, slots=True)
class Shelf:
    contacts: StoredPeople
    memory: StoredMemory
    resolver: Resolver
    clock: FakeClock

    async def add(
        self,
        name: str,
        *aliases: str,
        telegram: str | None = None,
        email: str | None = None,
        owner: str = HOUSEHOLD_OWNER,
    ) -> Person:
        new = new_contact(name=name, aliases=aliases, telegram_chat_id=telegram, email=email)
        return await self.contacts.create(owner, new, source="api", now_us=self.clock.now_us())


@pytest.fixture
def shelf(database: Database, clock: FakeClock) -> Shelf:
    numbers = itertools.count()
    contacts = StoredPeople(database, IdMint().mint, ())
    memory = StoredMemory(database)
    resolver = Resolver(
        books=contacts,
        memories=memory,
        clock=clock,
        new_token=lambda: f"token-number-{next(numbers)}",
        mint=IdMint().mint,
    )
    return Shelf(contacts, memory, resolver, clock)
