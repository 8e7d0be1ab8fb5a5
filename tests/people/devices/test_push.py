"""Devices on SQLite and PostgreSQL alike: an address while they are reached, and sealed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from sqlalchemy import select
from tests.clock import FakeClock

from postroom.kernel.database.engine import Database
from postroom.kernel.running.process import Seal
from postroom.kernel.values.errors import Refused
from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.people.devices.push import StoredPushDevices
from postroom.people.model import NewPerson, Person, PersonAddress, PushSubscription
from postroom.people.store.people import StoredPeople
from postroom.people.store.tables import push_devices


@dataclass(frozen=True, slots=True)
class Shelf:
    database: Database
    people: StoredPeople
    devices: StoredPushDevices

    async def person(self, name: str) -> Person:
        new = NewPerson(name=name, addresses=(PersonAddress(channel="telegram", address="1000"),))
        return await self.people.create(HOUSEHOLD_OWNER, new, source="api", now_us=1)

    async def addresses(self, person: Person) -> list[tuple[str, str, str]]:
        known = await self.people.get(HOUSEHOLD_OWNER, person.id)
        assert known is not None
        return [(one.channel, one.address, one.label) for one in sorted(known.addresses, key=lambda one: one.rank)]


@pytest.fixture
def shelf(database: Database) -> Shelf:
    people = StoredPeople(database, IdMint().mint, ())
    return Shelf(database, people, StoredPushDevices(database, people, Seal(b"k" * 32), FakeClock()))


def subscription(name: str) -> PushSubscription:
    return PushSubscription(endpoint=f"https://push.example.org/{name}", p256dh="public", auth="secret")


@pytest.mark.requirement("side:devices-sealed")
async def test_a_device_is_a_proved_address_behind_the_others_and_the_newest_is_first(shelf: Shelf) -> None:
    anna = await shelf.person("Anna")
    laptop = await shelf.devices.keep("push", anna.id, "Laptop", subscription("a"))
    phone = await shelf.devices.keep("push", anna.id, "Phone", subscription("b"))

    assert await shelf.addresses(anna) == [
        ("telegram", "1000", ""),
        ("push", phone.id, "Phone"),
        ("push", laptop.id, "Laptop"),
    ]
    assert await shelf.devices.subscription("push", phone.id) == subscription("b")
    assert await shelf.devices.subscription("other", phone.id) is None
    rows = await shelf.database.read(lambda read: str(read.execute(select(push_devices)).all()))
    assert "push.example.org" not in rows and "secret" not in rows


@pytest.mark.requirement("side:push-gone")
async def test_a_device_that_has_ended_is_no_address_and_keeps_no_secret(shelf: Shelf) -> None:
    anna = await shelf.person("Anna")
    phone = await shelf.devices.keep("push", anna.id, "Phone", subscription("b"))

    for _ in range(2):
        await shelf.devices.ended(phone.id)

    assert await shelf.addresses(anna) == [("telegram", "1000", "")]
    assert await shelf.devices.subscription("push", phone.id) is None
    [known] = await shelf.devices.of(anna.id)
    assert known.ended_at_us is not None


async def test_a_browser_belongs_to_whoever_signed_in_there_last(shelf: Shelf) -> None:
    anna, ben = await shelf.person("Anna"), await shelf.person("Ben")
    await shelf.devices.keep("push", anna.id, "Tablet", subscription("b"))
    device = await shelf.devices.keep("push", ben.id, "Tablet", subscription("b"))

    assert await shelf.devices.of(anna.id) == [] and len(await shelf.addresses(anna)) == 1
    assert [one.id for one in await shelf.devices.of(ben.id)] == [device.id]


@pytest.mark.requirement("side:devices-own")
async def test_only_their_own_person_removes_a_device(shelf: Shelf) -> None:
    anna, ben = await shelf.person("Anna"), await shelf.person("Ben")
    device = await shelf.devices.keep("push", anna.id, "Phone", subscription("b"))

    assert await shelf.devices.remove(ben.id, device.id) is None
    assert await shelf.devices.remove(anna.id, device.id) == device
    assert await shelf.devices.of(anna.id) == [] and await shelf.devices.remove(anna.id, device.id) is None
    with pytest.raises(Refused):
        await shelf.devices.keep("push", "nobody", "Phone", subscription("c"))


async def test_devices_that_are_switched_on_at_once_are_all_addresses(shelf: Shelf) -> None:
    anna = await shelf.person("Anna")

    await asyncio.gather(*(shelf.devices.keep("push", anna.id, f"{n}", subscription(f"{n}")) for n in range(5)))

    assert len(await shelf.addresses(anna)) == 6
    await shelf.people.delete(HOUSEHOLD_OWNER, anna.id)
    assert await shelf.devices.of(anna.id) == []
