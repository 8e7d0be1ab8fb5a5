"""The names behind addresses, on SQLite and PostgreSQL alike."""

from __future__ import annotations

import pytest

from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import HOUSEHOLD_OWNER as OWNER
from postroom.message.delivery import HeldAddress
from postroom.people.person_rules import new_contact
from postroom.people.store.people import StoredPeople
from postroom.people.store.rows import StoredHeldAddresses

PEOPLE = {
    "anna": new_contact(name="Anna", telegram_chat_id="4711", email="Anna@Example.org"),
    "bert": new_contact(name="Bert", email="anna@example.org"),
    "cleo": new_contact(name="Cleo"),
}


@pytest.fixture
async def held(database: Database) -> StoredHeldAddresses:
    book = StoredPeople(database, IdMint().mint, ())
    for person_id, one in PEOPLE.items():
        await book.create(OWNER, one, source="api", now_us=1, reserved_id=person_id)
    await book.create("agent://user/eve", new_contact(name="Eve's", email="x@example.org"), source="api", now_us=1)
    return StoredHeldAddresses(database)


async def test_a_page_of_addresses_and_ids_is_one_answer(held: StoredHeldAddresses) -> None:
    found = await held.held(["anna@example.org", "4711", "x@example.org"], ["cleo", "gone"])

    assert sorted(found, key=lambda one: (one.name, one.channel or "")) == [
        HeldAddress(person_id="anna", name="Anna", channel="email", folded="anna@example.org"),
        HeldAddress(person_id="anna", name="Anna", channel="telegram", folded="4711"),
        HeldAddress(person_id="bert", name="Bert", channel="email", folded="anna@example.org"),
        HeldAddress(person_id="cleo", name="Cleo"),
    ]


async def test_nothing_asked_is_nothing_found(held: StoredHeldAddresses) -> None:
    assert await held.held([], []) == []
