"""A person's own devices: switched on, listed, tried and switched off; kept as addresses, their secrets sealed."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final, Protocol

from sqlalchemy import Connection, Row, and_, delete, insert, select, update

from postroom.delivery.store.tables import delivery_requests
from postroom.kernel.database.engine import Database
from postroom.kernel.database.rows import read
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.process import Seal
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.fields import text_problem
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.message.channel import Outbound
from postroom.message.outgoing import Outcome, Outgoing
from postroom.people.model import (
    MOST_NAME_CHARACTERS,
    NewPerson,
    NotifiedMessage,
    Person,
    PushDevice,
    PushSubscription,
    is_at,
    with_proof,
)
from postroom.people.store.people import StoredPeople
from postroom.people.store.rows import read_people
from postroom.people.store.tables import people, push_devices
from postroom.people.store.writing import PersonWriter

ORIGIN: Final = "console"
MOST_DEVICES: Final = 10
_TRIAL: Final = "This is a trial. Notifications reach this device."
Check = Callable[[PushSubscription], object]
"""Raises ValueError with a sentence that repeats nothing of it."""


class DeviceRecord(Protocol):
    async def keep(self, channel: str, person_id: str, name: str, subscription: PushSubscription) -> PushDevice: ...

    async def of(self, person_id: str) -> Sequence[PushDevice]: ...

    async def remove(self, person_id: str, device_id: str) -> PushDevice | None: ...

    async def message(self, person_id: str, delivery_id: str) -> NotifiedMessage | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """`channel` is the account that notifies them."""

    channel: str
    key: str
    """With it a browser gives its consent to this household, and to no other."""
    record: DeviceRecord
    check: Check
    outbound: Outbound
    clock: Clock
    mint: Callable[[int], str]
    wait_seconds: float

    async def listed(self, person_id: str) -> Sequence[PushDevice]:
        return [one for one in await self.record.of(person_id) if one.channel == self.channel]

    async def add(self, person_id: str, name: str, subscription: PushSubscription) -> PushDevice:
        """Verified at once: the person who is signed in made it here. Raises Refused."""
        try:
            self.check(subscription)
        except ValueError as error:
            raise _wrong("subscription", str(error)) from None
        await self._refuse_too_many(person_id)
        return await self.record.keep(self.channel, person_id, _named(name), subscription)

    async def remove(self, person_id: str, device_id: str) -> PushDevice | None:
        return await self.record.remove(person_id, device_id)

    async def message(self, person_id: str, delivery_id: str) -> NotifiedMessage | None:
        """What a notification on one of their devices was about; None when it was on none."""
        return await self.record.message(person_id, delivery_id)

    async def test(self, person_id: str, device_id: str) -> Outcome | None:
        """On the one way out, as everything else; None when it is not this person's, or has ended."""
        known = [one.id for one in await self.listed(person_id) if one.ended_at_us is None]
        if device_id not in known:
            return None
        trial = Outgoing(origin_butler=ORIGIN, channel=self.channel, message=_TRIAL, recipient=device_id, released=True)
        request_id = self.mint(self.clock.now_us())
        return await self.outbound.submit(trial, request_id=request_id, wait_seconds=self.wait_seconds)

    async def _refuse_too_many(self, person_id: str) -> None:
        notified = [one for one in await self.record.of(person_id) if one.ended_at_us is None]
        if len(notified) >= MOST_DEVICES:
            raise _wrong("name", f"{MOST_DEVICES} devices are known already; remove one first")


def _named(name: str) -> str:
    line = " ".join(name.split())[:MOST_NAME_CHARACTERS]
    if problem := text_problem(line):
        raise _wrong("name", problem)
    return line or "A device"


def _wrong(field: str, error: str) -> Refused:
    return Refused.of(Code.SCHEMA_INVALID, [FieldError(field, error, "invalid")])


# On disk.

_c: Final = push_devices.c
_ID_BYTES: Final = 8


class StoredPushDevices:
    def __init__(self, database: Database, book: StoredPeople, seal: Seal, clock: Clock) -> None:
        self._database = database
        self._people = book
        self._seal = seal
        self._clock = clock

    async def keep(self, channel: str, person_id: str, name: str, subscription: PushSubscription) -> PushDevice:
        """The same browser again is the same device, whoever signed in there before; it is notified first."""
        mark, now_us, new_id = mark_of(subscription.endpoint), self._clock.now_us(), secrets.token_hex(_ID_BYTES)

        def work(connection: Connection, writer: PersonWriter) -> PushDevice:
            person = _person(connection, person_id)
            _forget(connection, writer, _marked(connection, channel, mark), now_us)
            person = _person(connection, person.id)
            new = _with_device(person, channel, new_id, name, now_us)
            writer.update(connection, person, new, now_us)
            row = {"id": new_id, "channel": channel, "person_id": person_id, "name": name, "mark": mark}
            sealed = self._seal.seal(_written(subscription), new_id)
            connection.execute(insert(push_devices), {**row, "sealed": sealed, "created_at": now_us})
            return PushDevice(
                id=new_id, channel=channel, person_id=person_id, name=name, mark=mark, created_at_us=now_us
            )

        return await self._people.write(work)

    async def of(self, person_id: str) -> Sequence[PushDevice]:
        """Those that are notified first before the others."""
        asked = select(push_devices).where(_c.person_id == person_id).order_by(_c.created_at.desc())
        return await self._database.read(lambda read: [_device(row) for row in read.execute(asked)])

    async def remove(self, person_id: str, device_id: str) -> PushDevice | None:
        """None when it is not this person's."""
        asked = select(push_devices).where(_c.id == device_id, _c.person_id == person_id)

        def work(connection: Connection, writer: PersonWriter) -> PushDevice | None:
            row = connection.execute(asked).first()
            _forget(connection, writer, row, self._clock.now_us())
            return _device(row) if row else None

        return await self._people.write(work)

    async def message(self, person_id: str, delivery_id: str) -> NotifiedMessage | None:
        """Only what was sent to one of this person's own devices, for as long as its words are kept."""
        sent = delivery_requests.c
        to_device = and_(_c.id == sent.address, _c.channel == sent.channel, _c.person_id == person_id)
        asked = select(sent.origin_butler, sent.subject, sent.message_content, sent.created_at)
        asked = asked.join(push_devices, to_device).where(sent.id == delivery_id)
        row = await self._database.read(lambda read: read.execute(asked).first())
        return NotifiedMessage(sender=row[0], subject=row[1], text=row[2], created_at_us=row[3]) if row else None

    async def subscription(self, channel: str, device_id: str) -> PushSubscription | None:
        asked = select(_c.sealed).where(_c.id == device_id, _c.channel == channel, _c.ended_at.is_(None))
        sealed = await self._database.read(lambda read: read.execute(asked).scalar())
        return PushSubscription(**json.loads(self._seal.unseal(sealed, device_id))) if sealed else None

    async def used(self, device_id: str) -> None:
        said = update(push_devices).where(_c.id == device_id).values(last_used_at=self._clock.now_us())
        await self._database.write(lambda connection: connection.execute(said) and None)

    async def ended(self, device_id: str) -> None:
        """The address goes, so that the next message takes the next device; that it was there stays to be seen."""
        now_us = self._clock.now_us()

        def work(connection: Connection, writer: PersonWriter) -> None:
            row = connection.execute(select(push_devices).where(_c.id == device_id)).first()
            if row is not None and row.ended_at is None:
                _without_address(connection, writer, row, now_us)
                over = update(push_devices).where(_c.id == device_id)
                connection.execute(over.values(ended_at=now_us, sealed=""))

        await self._people.write(work)


def mark_of(endpoint: str) -> str:
    return sha256(endpoint.encode()).hexdigest()


def _written(subscription: PushSubscription) -> str:
    return json.dumps({"endpoint": subscription.endpoint, "p256dh": subscription.p256dh, "auth": subscription.auth})


def _person(connection: Connection, person_id: str) -> Person:
    """Held, so that two devices at once do not overwrite each other's address."""
    connection.execute(select(people.c.id).where(people.c.id == person_id).with_for_update())
    found = read_people(connection, HOUSEHOLD_OWNER, [person_id])
    if not found:
        raise Refused(Code.NOT_FOUND, "there is no such person")
    return found[0]


def _with_device(person: Person, channel: str, device_id: str, name: str, now_us: int) -> NewPerson:
    """Before the person's other devices, and behind every other way to reach them."""
    known = with_proof(person, channel, device_id, now_us).addresses
    others = [one for one in known if not is_at(one, channel, device_id)]
    new = next(replace(one, label=name) for one in known if is_at(one, channel, device_id))
    place = next((number for number, one in enumerate(others) if one.channel == channel), len(others))
    ranked = [replace(one, rank=rank) for rank, one in enumerate([*others[:place], new, *others[place:]], 1)]
    return replace(person.as_written, addresses=tuple(ranked))


def _marked(connection: Connection, channel: str, mark: str) -> Row[Any] | None:
    return connection.execute(select(push_devices).where(_c.channel == channel, _c.mark == mark)).first()


def _forget(connection: Connection, writer: PersonWriter, row: Row[Any] | None, now_us: int) -> None:
    if row is not None:
        _without_address(connection, writer, row, now_us)
        connection.execute(delete(push_devices).where(_c.id == row.id))


def _without_address(connection: Connection, writer: PersonWriter, row: Row[Any], now_us: int) -> None:
    person = _person(connection, row.person_id)
    left = tuple(one for one in person.addresses if not is_at(one, row.channel, row.id))
    if len(left) < len(person.addresses):
        writer.update(connection, person, replace(person.as_written, addresses=left), now_us)


def _device(row: Row[Any]) -> PushDevice:
    return read(PushDevice, row)
