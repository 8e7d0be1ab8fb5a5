"""Whom the household trusts, by address."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from postroom.app.address_book import address_on
from postroom.domain.address_folding import folded
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.ports import Channel
from postroom.system.settings import Contact, Owner
from postroom.world.store.people.contacts import StoredContacts


class HouseholdTrust:
    """Whoever the settings trust, and stored contacts of the household's own book that are marked so."""

    def __init__(self, settings: SettingsTrust, contacts: StoredContacts) -> None:
        self._settings = settings
        self._contacts = contacts

    async def is_trusted(self, channel: str, address: str) -> bool:
        if await self._settings.is_trusted(channel, address):
            return True
        return await self._contacts.is_trusted(HOUSEHOLD_OWNER, channel, address)


class SettingsTrust:
    """The owner and the contacts marked `trusted`, each only on the channels where their address is known."""

    def __init__(self, owner: Owner, contacts: Iterable[Contact], channels: Mapping[str, Channel]) -> None:
        people: list[Owner | Contact] = [owner, *(contact for contact in contacts if contact.trusted)]
        self._known = {
            (name, _canonical(channel, address))
            for name, channel in channels.items()
            for person in people
            if (address := address_on(person, name))
        }
        self._channels = channels

    async def is_trusted(self, channel: str, address: str) -> bool:
        known = self._channels.get(channel)
        return known is not None and (channel, _canonical(known, address)) in self._known


def _canonical(channel: Channel, address: str) -> str:
    """Settings may write an address in another way than the channel does."""
    return folded(channel.address(address) or address)
