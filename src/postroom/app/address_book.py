"""The people a household knows: stored contacts by exact name, and its owner."""

from __future__ import annotations

from collections.abc import Sequence

from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.contact import Contact as StoredContact
from postroom.domain.ids import IdMint
from postroom.system.settings import Contact, Owner, Settings
from postroom.work.people.new_contact import new_contact
from postroom.work.people.normalise import keys_of
from postroom.world.store.engine.database import Database
from postroom.world.store.people.contacts import StoredContacts

_SOURCE = "settings"


class HouseholdAddressBook:
    """Contacts by exact name or alias, never by likeness."""

    def __init__(self, owner: Owner, contacts: StoredContacts) -> None:
        self._owner = owner
        self._contacts = contacts

    async def addresses(self, name: str, channel: str) -> Sequence[str]:
        found = [address_on(contact, channel) for contact in await self._contacts.named(HOUSEHOLD_OWNER, name)]
        return [address for address in found if address]

    async def owner(self, channel: str) -> str | None:
        return address_on(self._owner, channel)


def stored_contacts(database: Database, mint: IdMint) -> StoredContacts:
    return StoredContacts(database, mint.mint, keys_of)


async def import_settings_contacts(settings: Settings, contacts: StoredContacts, now_us: int) -> None:
    """The contacts of the settings file stand in the household's book beside all others."""
    wanted = [
        new_contact(
            name=one.name,
            aliases=one.aliases,
            agent=one.agent,
            telegram_chat_id=one.telegram_chat_id,
            email=one.email,
            trusted=one.trusted,
        )
        for one in settings.contacts
    ]
    await contacts.keep_in_step(HOUSEHOLD_OWNER, wanted, source=_SOURCE, now_us=now_us)


def address_on(person: Owner | Contact | StoredContact, channel: str) -> str | None:
    match channel:
        case "telegram":
            return person.telegram_chat_id
        case "email":
            return person.email
        case _:
            return None
