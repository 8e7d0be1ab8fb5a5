from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.opened_database import KINDS, opened_database

from postroom.domain.agent_address import HOUSEHOLD_OWNER as OWNER
from postroom.domain.errors import Refused
from postroom.domain.ids import IdMint
from postroom.domain.person import NewPerson, Person
from postroom.work.people.new_contact import new_contact
from postroom.work.people.normalise import keys_of
from postroom.world.store.people.people import StoredPeople


@pytest.fixture(params=KINDS)
async def contacts(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[StoredPeople]:
    async with opened_database(request.param, tmp_path, request) as database:
        yield StoredPeople(database, IdMint().mint, keys_of)


async def test_a_contact_is_kept_with_its_names_in_their_order(contacts: StoredPeople) -> None:
    new = new_contact(name="Bob Miller", aliases=["Rob", "Bob", "ROB"], telegram_chat_id="2001")

    made = await contacts.create(OWNER, new, source="api", now_us=1)

    assert made.agent_address == f"agent://contact/{made.id}"
    assert made.aliases == ("Rob", "Bob")
    assert await contacts.get(OWNER, made.id) == made
    assert await contacts.get("agent://user/eve", made.id) is None


async def test_a_name_is_looked_up_exactly(contacts: StoredPeople) -> None:
    bob = await contacts.create(OWNER, new_contact(name="Bob Miller", aliases=["Bob"]), source="api", now_us=1)

    assert [one.id for one in await contacts.named(OWNER, "  BOB ")] == [bob.id]
    assert await contacts.named(OWNER, "Bobb") == []


async def test_two_contacts_cannot_have_one_address(contacts: StoredPeople) -> None:
    await contacts.create(OWNER, new_contact(name="Bob", agent="agent://home/bob"), source="api", now_us=1)

    with pytest.raises(Refused):
        await contacts.create(OWNER, new_contact(name="Rob", agent="agent://home/bob"), source="api", now_us=1)
    await contacts.create("agent://user/eve", new_contact(name="Bob", agent="agent://home/bob"), source="api", now_us=1)


async def test_what_did_not_change_keeps_its_entries(contacts: StoredPeople) -> None:
    made = await contacts.create(OWNER, new_contact(name="Bob", aliases=["Rob"]), source="api", now_us=1)
    before = await contacts.entry_ids(OWNER)

    more = new_contact(name="Bob", aliases=["Rob", "Robbie"])
    await contacts.change(OWNER, made.id, lambda _: more, now_us=2)

    after = await contacts.entry_ids(OWNER)
    assert before < after
    assert {entry.alias for entry in await contacts.entries(OWNER, after - before)} == {"Robbie"}


async def test_contacts_are_read_page_by_page(contacts: StoredPeople) -> None:
    made = [await contacts.create(OWNER, new_contact(name=f"P {n}"), source="api", now_us=1) for n in range(5)]

    first = await contacts.page(OWNER, after=None, limit=3)
    rest = await contacts.page(OWNER, after=first[-1].id, limit=3)

    assert [one.id for one in (*first, *rest)] == [one.id for one in made]


async def test_cards_join_the_contact_they_belong_to(contacts: StoredPeople) -> None:
    bob = await contacts.create(OWNER, new_contact(name="Bob Miller", email="bob@x.org"), source="api", now_us=1)
    cards = [
        new_contact(name="Robert Miller", email="BOB@x.org", telegram_chat_id="2001"),
        new_contact(name="Bob Miller", email="other@x.org"),
        new_contact(name="Anna"),
    ]

    assert await contacts.merge(OWNER, cards, source="import", now_us=2) == (2, 1)
    assert await contacts.merge(OWNER, cards, source="import", now_us=3) == (0, 0)
    joined = await contacts.get(OWNER, bob.id)
    assert joined is not None
    assert (joined.aliases, joined.address_on("telegram")) == (("Robert Miller",), "2001")


async def test_the_settings_contacts_are_kept_in_step(contacts: StoredPeople) -> None:
    own = await contacts.create(OWNER, new_contact(name="Own"), source="api", now_us=1)

    async def settings(*names: str) -> dict[str, str]:
        wanted = [new_contact(name=name, aliases=[f"{name} alias"], email=f"{name}@X.org") for name in names]
        await contacts.keep_in_step(OWNER, wanted, now_us=2)
        return {one.name: one.id for one in await contacts.page(OWNER, after=None, limit=50)}

    first = await settings("Anna", "Bob")
    again = await settings("Anna", "Bob")
    third = await settings("Bob", "Carl")

    assert first == again
    assert set(third) == {"Own", "Bob", "Carl"}
    assert (third["Own"], third["Bob"]) == (own.id, first["Bob"])


async def test_two_people_of_one_name_in_the_settings_stay_two(contacts: StoredPeople) -> None:
    wanted = [new_contact(name="Alice", telegram_chat_id=chat) for chat in ("1", "2")]

    for _ in range(2):
        await contacts.keep_in_step(OWNER, wanted, now_us=1)

    assert sorted(one.address_on("telegram") or "" for one in await contacts.named(OWNER, "alice")) == ["1", "2"]
    await contacts.keep_in_step(OWNER, wanted[1:], now_us=1)
    assert [one.address_on("telegram") for one in await contacts.named(OWNER, "alice")] == ["2"]


@pytest.mark.parametrize("address", ["bob@x.org", "BOB@X.org", "2001", "@bobm", "agent://home/bob"])
async def test_a_contact_is_found_under_each_of_its_addresses(contacts: StoredPeople, address: str) -> None:
    chat = "@BobM" if address.startswith("@") else "2001"
    bob = new_contact(name="Bob", email="bob@x.org", telegram_chat_id=chat, agent="agent://home/bob")
    made = await contacts.create(OWNER, bob, source="api", now_us=1)

    assert await contacts.by_address(OWNER, address) == made
    assert await contacts.by_address(OWNER, "Bob") is None


async def test_two_changes_at_once_both_count(contacts: StoredPeople) -> None:
    bob = await contacts.create(OWNER, new_contact(name="Bob", telegram_chat_id="2001"), source="api", now_us=1)

    def named(alias: str) -> Callable[[Person], NewPerson]:
        return lambda known: new_contact(name=known.name, aliases=[*known.aliases, alias], own_id=known.id)

    names = [f"Rob {number}" for number in range(6)]
    await asyncio.gather(*(contacts.change(OWNER, bob.id, named(alias), now_us=2) for alias in names))

    changed = await contacts.get(OWNER, bob.id)
    assert changed is not None and sorted(changed.aliases) == names
    assert await contacts.change(OWNER, "nobody", named("Rob"), now_us=3) is None
    assert await contacts.change("agent://user/eve", bob.id, named("Eve"), now_us=3) is None
