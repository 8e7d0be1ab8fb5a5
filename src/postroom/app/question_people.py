"""The owner and the contacts of the household, as those who can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from postroom.app.address_book import address_on
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.contact import Contact
from postroom.domain.person import Person, PersonAddress, PersonRole
from postroom.domain.principal import OWNER
from postroom.system.settings import Owner
from postroom.world.store.people.contacts import StoredContacts

_CHANNELS: Final = ("telegram", "email")
_AT_A_TIME: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdAsked:
    """For the owner's addresses the operator vouches; no one has proved those of a contact."""

    settings_owner: Owner
    contacts: StoredContacts

    async def find(self, who: str) -> Sequence[Person]:
        name = who.strip()
        if name.lower() == OWNER:
            return [await self.owner()]
        if contact := await self.contacts.get(HOUSEHOLD_OWNER, name):
            return [_person(contact)]
        named = [_person(contact) for contact in await self.contacts.named(HOUSEHOLD_OWNER, name)]
        owner = await self.owner()
        return named or ([owner] if name.casefold() == owner.name.casefold() else [])

    async def at(self, channel: str, address: str) -> Person | None:
        owner = await self.owner()
        return owner if owner.address_on(channel) == address else None

    async def owner(self) -> Person:
        return Person(
            id=OWNER,
            owner_agent=HOUSEHOLD_OWNER,
            name=self.settings_owner.name or OWNER,
            aliases=(),
            agent_address=HOUSEHOLD_OWNER,
            role=PersonRole.OWNER,
            trusted=True,
            zone=None,
            language=None,
            addresses=_addresses(self.settings_owner, verified_at_us=0),
            source="settings",
            created_at_us=0,
            updated_at_us=0,
        )

    async def names(self) -> Sequence[str]:
        page = await self.contacts.page(HOUSEHOLD_OWNER, after=None, limit=_AT_A_TIME)
        return [(await self.owner()).name, *(name for one in page for name in (one.name, *one.aliases))]


def _person(contact: Contact) -> Person:
    return Person(
        id=contact.id,
        owner_agent=contact.owner_agent,
        name=contact.name,
        aliases=contact.aliases,
        agent_address=contact.agent_address,
        role=PersonRole.CONTACT,
        trusted=contact.trusted,
        zone=None,
        language=None,
        addresses=_addresses(contact, verified_at_us=None),
        source=contact.source,
        created_at_us=contact.created_at_us,
        updated_at_us=contact.updated_at_us,
    )


def _addresses(known: Owner | Contact, verified_at_us: int | None) -> tuple[PersonAddress, ...]:
    found = [(channel, address) for channel in _CHANNELS if (address := address_on(known, channel))]
    return tuple(
        PersonAddress(channel=channel, address=address, rank=rank, verified_at_us=verified_at_us)
        for rank, (channel, address) in enumerate(found, 1)
    )
