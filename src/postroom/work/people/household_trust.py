"""Whom the household trusts, by address."""

from __future__ import annotations

from collections.abc import Mapping

from postroom.domain.address_folding import folded
from postroom.domain.ports import Channel
from postroom.work.people.household_people import HouseholdPeople, Known


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
