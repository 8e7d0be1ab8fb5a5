"""A contact's two addresses and further ones, as the settings, files and connectors write them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from postroom.domain.address_folding import folded
from postroom.domain.fields import text_problem
from postroom.domain.person import NewPerson, Person, PersonAddress
from postroom.work.people.new_person import AddressForms

TELEGRAM: Final = "telegram"
EMAIL: Final = "email"
_RANKS: Final = {TELEGRAM: 1, EMAIL: 2}


def contact_addresses(telegram_chat_id: str | None, email: str | None) -> tuple[PersonAddress, ...]:
    written = ((TELEGRAM, telegram_chat_id), (EMAIL, email))
    return tuple(
        PersonAddress(channel=channel, address=address, rank=_RANKS[channel]) for channel, address in written if address
    )


def further_addresses(texts: Iterable[str], forms: AddressForms) -> tuple[PersonAddress, ...]:
    """As CHANNEL:ADDRESS, tried after those two; raises ValueError with a sentence."""
    return tuple(_further(text, forms, rank) for rank, text in enumerate(texts, len(_RANKS) + 1))


def together(*addresses: PersonAddress) -> tuple[PersonAddress, ...]:
    """Each once."""
    kept: dict[tuple[str, str], PersonAddress] = {}
    for one in addresses:
        kept.setdefault((one.channel, folded(one.address)), one)
    return tuple(kept.values())


def vouched(
    telegram_chat_id: str | None, email: str | None, now_us: int, further: Iterable[PersonAddress] = ()
) -> tuple[PersonAddress, ...]:
    """Addresses that need no proof, because the one who runs the household wrote them down."""
    places = contact_addresses((telegram_chat_id or "").strip(), (email or "").strip())
    return tuple(replace(one, verified_at_us=now_us) for one in together(*places, *further))


def rewritten(known: Person, contact: NewPerson) -> NewPerson:
    """The person as the contact was written anew; what a contact has no words for stays as it is."""
    return replace(
        contact,
        role=known.role,
        zone=known.zone,
        language=known.language,
        default_butler=known.default_butler,
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


def _further(text: str, forms: AddressForms, rank: int) -> PersonAddress:
    channel, colon, written = (part.strip() for part in text.partition(":"))
    if not colon or not channel or not written:
        raise ValueError(f"'{text}' must be CHANNEL:ADDRESS, such as slack:U123")
    if (form := forms.get(channel)) is None:
        raise ValueError(f"'{channel}' is none of the channels {', '.join(sorted(forms))}")
    address = None if text_problem(written) else form(written)
    if address is None:
        raise ValueError(f"'{written}' is no address of {channel}")
    return PersonAddress(channel=channel, address=address, rank=rank)


def _is_same(one: PersonAddress, other: PersonAddress) -> bool:
    return one.channel == other.channel and folded(one.address) == folded(other.address)
