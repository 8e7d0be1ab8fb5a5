"""The people a household knows from its settings."""

from __future__ import annotations

from collections.abc import Sequence

from postroom.settings import Contact, Owner


class SettingsAddressBook:
    """Contacts by exact name or alias, never by likeness."""

    def __init__(self, owner: Owner, contacts: Sequence[Contact]) -> None:
        self._owner = owner
        self._by_name: dict[str, list[Contact]] = {}
        for contact in contacts:
            for name in {_folded(name) for name in (contact.name, *contact.aliases)}:
                self._by_name.setdefault(name, []).append(contact)

    async def addresses(self, name: str, channel: str) -> Sequence[str]:
        found = [address_on(contact, channel) for contact in self._by_name.get(_folded(name), [])]
        return [address for address in found if address]

    async def owner(self, channel: str) -> str | None:
        return address_on(self._owner, channel)


def address_on(person: Owner | Contact, channel: str) -> str | None:
    match channel:
        case "telegram":
            return person.telegram_chat_id
        case "email":
            return person.email
        case _:
            return None


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()
