"""Who is who in the household, and where they are: the one answer for all who write to people or judge an address."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.message.channel import Channel
from postroom.message.delivery import folded
from postroom.people.model import (
    SIGN_IN,
    NewPerson,
    Person,
    PersonAddress,
    PersonRole,
    has_proved,
    is_at,
    no_person,
)
from postroom.people.person_rules import AddressForms, new_person
from postroom.people.store.people import StoredPeople

# Every message asks for the owner or for trust, and a question to the database for each would cost more than the rest
# of accepting it. What this process changes holds at once; what another one changes, after this long at the latest.
GOOD_FOR_SECONDS: Final = 2.0
_GOOD_FOR_US: Final = seconds(GOOD_FOR_SECONDS)
_GOOD_UNASKED_US: Final = seconds(10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is held in memory, and from when it is."""

    owner: Person | None
    trusted: tuple[PersonAddress, ...]  # of the household's own people, and of those who are trusted
    approvers: frozenset[str]
    version: int
    changes: int
    read_at_us: int


class HouseholdPeople:
    """Addresses by exact name, alias or id, never by likeness."""

    def __init__(self, people: StoredPeople, clock: Clock) -> None:
        self._people = people
        self._clock = clock
        self._known: Known | None = None

    async def addresses(self, name: str, channel: str) -> Sequence[str]:
        """
        Contacts come first; the owner and those who only sign in take no name away from a contact.

        What is a person's address there is nobody's name: a contact who is called like it gets none of their messages.
        Written in other letters it is still theirs, and goes out as they wrote it: some channels tell letters apart.
        """
        if theirs := _spelt_like(name, channel, await self._people.at(HOUSEHOLD_OWNER, channel, name)):
            return [] if name.strip() in theirs else theirs
        named = await self._people.named(HOUSEHOLD_OWNER, name)
        found = _on(channel, [one for one in named if one.is_in_contact_book])
        return found or _on(channel, await self._people.find(HOUSEHOLD_OWNER, name))

    async def channels_of(self, name: str | None) -> Sequence[str]:
        """Of several people of one name, those of all: who is meant is asked when the address is."""
        places = [place for one in await self._meant(name) for place in sorted(one.addresses, key=lambda one: one.rank)]
        return list(dict.fromkeys(place.channel for place in places))

    async def _meant(self, name: str | None) -> Sequence[Person]:
        if name is None:
            owner = await self.owner_person()
            return [owner] if owner else []
        named = await self._people.named(HOUSEHOLD_OWNER, name)
        contacts = [one for one in named if one.is_in_contact_book and one.addresses]
        return contacts or await self._people.find(HOUSEHOLD_OWNER, name)

    async def owner(self, channel: str) -> str | None:
        owner = await self.owner_person()
        return owner.address_on(channel) if owner else None

    async def owner_person(self) -> Person | None:
        return (await self.known()).owner

    async def known(self, *, as_of_now: bool = False) -> Known:
        """`as_of_now`: with what another process has just changed."""
        held, now, changes = self._known, self._clock.now_us(), self._people.changes
        good_for_us = 0 if as_of_now else _GOOD_FOR_US
        if held is not None and held.changes == changes and now - held.read_at_us < good_for_us:
            return held
        if held is not None and held.version == await self._people.version(HOUSEHOLD_OWNER):
            self._known = replace(held, changes=changes, read_at_us=now)
        else:
            version, people = await self._people.known(HOUSEHOLD_OWNER)
            self._known = _known(people, version=version, changes=changes, read_at_us=now)
        return self._known

    async def look(self) -> int:
        """One round of a loop that keeps `approvers` fresh; when the next is due."""
        return (await self.known()).read_at_us + _GOOD_FOR_US

    @property
    def approvers(self) -> frozenset[str]:
        """As of the last look. When the database cannot be asked for long, the role counts for none of them."""
        held = self._known
        if held is None or self._clock.now_us() - held.read_at_us > _GOOD_UNASKED_US:
            return frozenset()
        return held.approvers


def _known(people: Sequence[Person], *, version: int, changes: int, read_at_us: int) -> Known:
    owner = next((one for one in people if one.role is PersonRole.OWNER), None)
    return Known(
        owner=owner,
        trusted=tuple(place for one in people for place in one.trusted_addresses),
        approvers=frozenset(one.id for one in people if one.role is PersonRole.APPROVER),
        version=version,
        changes=changes,
        read_at_us=read_at_us,
    )


def _on(channel: str, people: Sequence[Person]) -> list[str]:
    return [address for person in people if (address := person.address_on(channel))]


def _spelt_like(name: str, channel: str, people: Sequence[Person]) -> list[str]:
    """Their addresses there that are this one but for large and small letters."""
    places = [place for person in people for place in person.addresses if place.channel == channel]
    return [place.address for place in places if folded(place.address) == folded(name.strip())]


# Whom the household trusts, by address.


class HouseholdTrust:
    """The household's own people and those marked `trusted`, each only on the channels where their address is known."""

    def __init__(self, people: HouseholdPeople, channels: Mapping[str, Channel]) -> None:
        self._people = people
        self._channels = channels
        self._held: tuple[Known | None, frozenset[tuple[str, str]]] = (None, frozenset())

    async def is_trusted(self, channel: str, address: str) -> bool:
        """Before a no it is looked once more: another process may just have come to trust them."""
        used = self._channels.get(channel)
        if used is None:
            return False
        asked = (channel, _canonical(used, address))
        return asked in await self._trusted() or asked in await self._trusted(as_of_now=True)

    async def _trusted(self, *, as_of_now: bool = False) -> frozenset[tuple[str, str]]:
        """Made anew only when there is something new to make it from."""
        known = await self._people.known(as_of_now=as_of_now)
        before, made = self._held
        if before is None or before.trusted is not known.trusted:
            made = frozenset(
                (one.channel, _canonical(self._channels[one.channel], one.address))
                for one in known.trusted
                if one.channel in self._channels
            )
            self._held = known, made
        return made


def _canonical(channel: Channel, address: str) -> str:
    """People may write an address in another way than the channel does."""
    return folded(channel.address(address) or address)


# The household's people: one way to write them down, whichever door it came through.


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    store: StoredPeople
    forms: AddressForms
    clock: Clock
    book: str = HOUSEHOLD_OWNER
    moved: Callable[[], None] | None = None  # told when somebody's time zone is another one

    async def get(self, person_id: str) -> Person:
        if (found := await self.store.get(self.book, person_id)) is not None:
            return found
        raise no_person()

    async def called(self, who: str) -> Sequence[Person]:
        return await self.store.find(self.book, who)

    async def create(self, written: NewPerson, *, source: str, reserved_id: str | None = None) -> Person:
        new, now_us = new_person(written, self.forms), self.clock.now_us()
        await self._refuse_proved(reserved_id, new)
        return await self.store.create(self.book, new, source=source, now_us=now_us, reserved_id=reserved_id)

    async def reopen(self, person_id: str, places: Sequence[tuple[str, str]]) -> None:
        """These addresses of the person are written to again."""
        person = await self.get(person_id)
        for place, (channel, address) in enumerate(places):
            if not any(is_at(one, channel, address) for one in person.addresses):
                error = f"{person.name} has no such address"
                raise Refused.of(Code.SCHEMA_INVALID, [FieldError(f"reopen.{place}", error, "unknown_address")])
        for channel, address in places:
            await self.store.reopen(channel, address)

    async def edit(self, person_id: str, edit: Callable[[NewPerson], NewPerson]) -> Person:
        def edited(person: Person) -> NewPerson:
            return new_person(edit(person.as_written), self.forms, person)

        known = await self.get(person_id)
        await self._refuse_proved(person_id, edited(known), {one.key for one in known.addresses})
        found = await self.store.change(self.book, person_id, edited, now_us=self.clock.now_us())
        if found is None:
            raise no_person()
        if self.moved is not None and found.zone != known.zone:
            self.moved()
        return found

    async def delete(self, person_id: str) -> None:
        if not await self.store.delete(self.book, person_id, now_us=self.clock.now_us()):
            raise no_person()

    async def admit(self, person_id: str) -> None:
        """A person who will sign in and is not known yet."""
        await self.create(NewPerson(name=person_id, role=PersonRole.MEMBER), source=SIGN_IN, reserved_id=person_id)

    async def _refuse_proved(
        self, person_id: str | None, new: NewPerson, kept: Collection[tuple[str, str]] = ()
    ) -> None:
        """An address that another person has proved to be theirs is not written down for anybody else."""
        for one in new.addresses:
            if one.key not in kept and any(
                other.id != person_id and has_proved(other, one.channel, one.address)
                for other in await self.store.at(self.book, one.channel, one.address)
            ):
                error = f"the one on {one.channel} is verified for another person"
                raise Refused.of(Code.CONTACT_EXISTS, [FieldError("addresses", error, "taken")])
