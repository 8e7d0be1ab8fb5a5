"""Who stands behind an agent address: a person, a butler, or an agent that fetches its own post."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from postroom.domain.agent_address import (
    BUTLER_PREFIX,
    CONTACT_PREFIX,
    HOUSEHOLD_OWNER,
    USER_PREFIX,
    butler_name,
)
from postroom.domain.contact import Contact
from postroom.domain.errors import Code, Refused
from postroom.domain.ports import AddressBook

CHANNELS: Final = ("telegram", "email")  # in the order of preference: on the first, a person can answer


@dataclass(frozen=True, slots=True)
class Person:
    agent: str
    channel: str
    address: str


@dataclass(frozen=True, slots=True)
class Butler:
    agent: str
    name: str


@dataclass(frozen=True, slots=True)
class Correspondent:
    """Nothing is sent: the agent reads its inbox or its stream."""

    agent: str


Target = Person | Butler | Correspondent


class Contacts(Protocol):
    async def by_address(self, owner_agent: str, agent_address: str) -> Contact | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    contacts: Contacts
    household: AddressBook
    butlers: frozenset[str]
    channels: Sequence[str] = CHANNELS
    owner_name: str = ""

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
            return Butler(address, name)
        if address.startswith(CONTACT_PREFIX) and contact is None:
            raise Refused(Code.AGENT_NOT_FOUND, "no contact in the sender's book has this address")
        return Correspondent(address)

    async def is_person(self, sender: str, address: str) -> bool:
        """The owner, a user, or a contact in the sender's own book."""
        if address == HOUSEHOLD_OWNER or address.startswith(USER_PREFIX):
            return True
        if butler_name(address) is not None:
            return False
        return await self.contacts.by_address(book_of(sender), address) is not None

    async def display_name(self, sender: str, viewer_book: str) -> str:
        if sender == HOUSEHOLD_OWNER:
            return self.owner_name or "the household's owner"
        contact = await self.contacts.by_address(viewer_book, sender)
        return contact.name if contact else sender.removeprefix(BUTLER_PREFIX)

    async def _owner(self) -> Target:
        for channel in self.channels:
            if address := await self.household.owner(channel):
                return Person(HOUSEHOLD_OWNER, channel, address)
        return Correspondent(HOUSEHOLD_OWNER)

    def _person(self, contact: Contact) -> Person | None:
        known = {"telegram": contact.telegram_chat_id, "email": contact.email}
        for channel in self.channels:
            if address := known.get(channel):
                return Person(contact.agent_address, channel, address)
        return None


def book_of(agent: str) -> str:
    """Butlers have no book of their own: they use the household's."""
    return HOUSEHOLD_OWNER if butler_name(agent) is not None else agent
