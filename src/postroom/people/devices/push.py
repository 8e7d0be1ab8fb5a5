"""A person's own devices: switched on, listed, tried and switched off; kept as addresses, their secrets sealed."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Final

from sqlalchemy import and_, delete, insert, select, update

from postroom.delivery.store.tables import delivery_requests
from postroom.kernel.database.engine import Database
from postroom.kernel.database.rows import read, values
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.process import Seal
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.fields import text_problem
from postroom.message.channel import Outbound
from postroom.message.outgoing import Outcome, Outgoing
from postroom.people.model import (
    MOST_NAME_CHARACTERS,
    NotifiedMessage,
    PersonAddress,
    PushDevice,
    PushSubscription,
    is_at,
    with_new,
)
from postroom.people.store.people import StoredPeople
from postroom.people.store.tables import push_devices
from postroom.people.store.writing import BookWriter

ORIGIN: Final = "console"
MOST_DEVICES: Final = 10
_TRIAL: Final = "This is a trial. Notifications reach this device."
Check = Callable[[PushSubscription], object]
"""Raises ValueError with a sentence that repeats nothing of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """`channel` is the account that notifies them."""

    channel: str
    key: str
    """With it a browser gives its consent to this household, and to no other."""
    record: StoredPushDevices
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

        made = PushDevice(id=new_id, channel=channel, person_id=person_id, name=name, mark=mark, created_at_us=now_us)

        def work(writer: BookWriter) -> PushDevice:
            writer.person(person_id)  # held, so that two devices at once do not overwrite each other's address
            same = select(push_devices).where(_c.channel == channel, _c.mark == mark)
            if row := writer.connection.execute(same).first():
                _forget(writer, read(PushDevice, row))
            person = writer.person(person_id)
            address = PersonAddress(channel=channel, address=new_id, verified_at_us=now_us, label=name)
            # before the person's other devices, and behind every other way to reach them
            writer.update(person, with_new(person, address, before=lambda one: one.channel == channel))
            sealed = self._seal.seal(json.dumps(asdict(subscription)), new_id)
            writer.connection.execute(insert(push_devices), values(made, sealed=sealed))
            return made

        return await self._people.write(work, now_us)

    async def of(self, person_id: str) -> Sequence[PushDevice]:
        """Those that are notified first before the others."""
        asked = select(push_devices).where(_c.person_id == person_id).order_by(_c.created_at.desc())
        rows = await self._database.read(lambda connection: connection.execute(asked).all())
        return [read(PushDevice, row) for row in rows]

    async def remove(self, person_id: str, device_id: str) -> PushDevice | None:
        """None when it is not this person's."""
        asked = select(push_devices).where(_c.id == device_id, _c.person_id == person_id)

        def work(writer: BookWriter) -> PushDevice | None:
            if (row := writer.connection.execute(asked).first()) is None:
                return None
            _forget(writer, gone := read(PushDevice, row))
            return gone

        return await self._people.write(work, self._clock.now_us())

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

        def work(writer: BookWriter) -> None:
            row = writer.connection.execute(select(push_devices).where(_c.id == device_id)).first()
            if row is not None and row.ended_at is None:
                _without_address(writer, read(PushDevice, row))
                over = update(push_devices).where(_c.id == device_id)
                writer.connection.execute(over.values(ended_at=now_us, sealed=""))

        await self._people.write(work, now_us)


def mark_of(endpoint: str) -> str:
    return sha256(endpoint.encode()).hexdigest()


def _forget(writer: BookWriter, device: PushDevice) -> None:
    _without_address(writer, device)
    writer.connection.execute(delete(push_devices).where(_c.id == device.id))


def _without_address(writer: BookWriter, device: PushDevice) -> None:
    person = writer.person(device.person_id)
    left = tuple(one for one in person.addresses if not is_at(one, device.channel, device.id))
    if len(left) < len(person.addresses):
        writer.update(person, replace(person.as_written, addresses=left))
