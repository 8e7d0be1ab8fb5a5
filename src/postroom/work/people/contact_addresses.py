"""A contact's two addresses, as the settings, files and connectors write them, among a person's many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from postroom.domain.address_folding import folded
from postroom.domain.person import NewPerson, Person, PersonAddress

TELEGRAM: Final = "telegram"
EMAIL: Final = "email"
_RANKS: Final = {TELEGRAM: 1, EMAIL: 2}


def contact_addresses(telegram_chat_id: str | None, email: str | None) -> tuple[PersonAddress, ...]:
    written = ((TELEGRAM, telegram_chat_id), (EMAIL, email))
    return tuple(
        PersonAddress(channel=channel, address=address, rank=_RANKS[channel]) for channel, address in written if address
    )


def vouched(telegram_chat_id: str | None, email: str | None, now_us: int) -> tuple[PersonAddress, ...]:
    """Addresses that need no proof, because the one who runs the household wrote them down."""
    places = contact_addresses((telegram_chat_id or "").strip(), (email or "").strip())
    return tuple(replace(one, verified_at_us=now_us) for one in places)


def rewritten(known: Person, contact: NewPerson) -> NewPerson:
    """The person as the contact was written anew; what a contact has no words for stays as it is."""
    return replace(
        contact,
        role=known.role,
        zone=known.zone,
        language=known.language,
        addresses=tuple(sorted(_places(known, contact.addresses), key=lambda one: one.rank)),
    )


def _places(known: Person, written: Sequence[PersonAddress]) -> Iterable[PersonAddress]:
    """The first address on each of the two channels is replaced; one that stays the same stays proved."""
    for one in written:
        same = (place for place in known.addresses if _is_same(place, one))
        yield next(same, one)
    shown = [(channel, known.address_on(channel)) for channel in _RANKS]
    yield from (
        place
        for place in known.addresses
        if (place.channel, place.address) not in shown and not any(_is_same(place, one) for one in written)
    )


def _is_same(one: PersonAddress, other: PersonAddress) -> bool:
    return one.channel == other.channel and folded(one.address) == folded(other.address)
