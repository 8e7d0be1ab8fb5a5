"""Who stands behind an agent address: a person, a butler, or an agent that fetches its own post."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from postroom.domain.agent_address import (
    BUTLER_PREFIX,
    CONTACT_PREFIX,
    HOUSEHOLD_OWNER,
    USER_PREFIX,
    butler_name,
)
from postroom.domain.errors import Code, Refused
from postroom.domain.person import Person as Record
from postroom.work.people.household_people import HouseholdPeople


@dataclass(frozen=True, slots=True)
class PersonTarget:
    agent: str
    channel: str
    address: str
    proved: bool = False  # only who has proved their address decides anything


@dataclass(frozen=True, slots=True)
class ButlerTarget:
    agent: str
    name: str


@dataclass(frozen=True, slots=True)
class AgentTarget:
    """Nothing is sent: the agent reads its inbox or its stream."""

    agent: str


Target = PersonTarget | ButlerTarget | AgentTarget


class Contacts(Protocol):
    async def by_address(self, owner_agent: str, agent_address: str) -> Record | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    contacts: Contacts
    household: HouseholdPeople
    butlers: frozenset[str]
    channels: frozenset[str]

    async def find(self, sender: str, address: str) -> Target:
        """Within the sender's own book; raises Refused for somebody who cannot exist."""
        if address == HOUSEHOLD_OWNER:
            return await self._owner()
        contact = await self.contacts.by_address(book_of(sender), address)
        if contact is not None and (person := self._person(contact)):
            return person
        if (name := butler_name(address)) is not None:
            if name not in self.butlers:
                raise Refused(Code.AGENT_NOT_FOUND, "this household has no butler of that name")
            return ButlerTarget(address, name)
        if address.startswith(CONTACT_PREFIX) and contact is None:
            raise Refused(Code.AGENT_NOT_FOUND, "no contact in the sender's book has this address")
        return AgentTarget(address)

    async def is_person(self, sender: str, address: str) -> bool:
        """The owner, a user, or a contact in the sender's own book."""
        if address == HOUSEHOLD_OWNER or address.startswith(USER_PREFIX):
            return True
        if butler_name(address) is not None:
            return False
        return await self.contacts.by_address(book_of(sender), address) is not None

    async def display_name(self, sender: str, viewer_book: str) -> str:
        if sender == HOUSEHOLD_OWNER:
            owner = await self.household.owner_person()
            return owner.name if owner else "the household's owner"
        contact = await self.contacts.by_address(viewer_book, sender)
        return contact.name if contact else sender.removeprefix(BUTLER_PREFIX)

    async def _owner(self) -> Target:
        owner = await self.household.owner_person()
        return (self._person(owner) if owner else None) or AgentTarget(HOUSEHOLD_OWNER)

    def _person(self, record: Record) -> PersonTarget | None:
        """Where the person is tried first; on a channel that is not set up the delivery says so."""
        usable = [one for one in record.addresses if one.channel in self.channels]
        first = next(iter([*usable, *record.addresses]), None)
        if first is None:
            return None
        return PersonTarget(record.agent_address, first.channel, first.address, first.verified_at_us is not None)


def book_of(agent: str) -> str:
    """Butlers have no book of their own: they use the household's."""
    return HOUSEHOLD_OWNER if butler_name(agent) is not None else agent
