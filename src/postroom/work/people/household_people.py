"""Who is who in the household, and where they are: the one answer for all who write to people or judge an address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from postroom.domain.address_folding import folded
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.clock import Clock
from postroom.domain.person import Person, PersonAddress, PersonRole
from postroom.domain.time import seconds

# Every message asks for the owner or for trust, and a question to the database for each would cost more than the rest
# of accepting it. What this process changes holds at once; what another one changes, after this long at the latest.
GOOD_FOR_SECONDS: Final = 2.0
_GOOD_FOR_US: Final = seconds(GOOD_FOR_SECONDS)
_GOOD_UNASKED_US: Final = seconds(10.0)


class PeopleStore(Protocol):
    @property
    def changes(self) -> int:
        """How often this process has written."""
        ...

    async def version(self, owner_agent: str) -> int: ...

    async def known(self, owner_agent: str) -> tuple[int, Sequence[Person]]:
        """The version of the book, with the household's own people and those who are trusted."""
        ...

    async def named(self, owner_agent: str, name: str) -> Sequence[Person]: ...

    async def find(self, owner_agent: str, who: str) -> Sequence[Person]: ...

    async def at(self, owner_agent: str, channel: str, address: str) -> Sequence[Person]: ...


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

    def __init__(self, people: PeopleStore, clock: Clock) -> None:
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
