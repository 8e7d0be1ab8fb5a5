"""The order of a person's addresses, when one of them is proved or comes first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from postroom.domain.address_folding import folded
from postroom.domain.errors import Code, FieldError, Refused
from postroom.domain.person import MAX_ADDRESSES, NewPerson, Person, PersonAddress


def is_at(one: PersonAddress, channel: str, address: str) -> bool:
    return one.channel == channel and folded(one.address) == folded(address.strip())


def has_proved(person: Person, channel: str, address: str) -> bool:
    return any(is_at(one, channel, address) and one.verified_at_us is not None for one in person.addresses)


def with_proof(person: Person, channel: str, address: str, now_us: int) -> NewPerson:
    """An address that is new stands before those on its channel that are not proved, or else behind all others."""
    if any(is_at(one, channel, address) for one in person.addresses):
        places = [
            replace(one, verified_at_us=now_us) if is_at(one, channel, address) else one for one in person.addresses
        ]
        return replace(person.as_written, addresses=tuple(places))
    if len(person.addresses) >= MAX_ADDRESSES:
        raise Refused.of(Code.SCHEMA_INVALID, [FieldError("addresses", f"may be {MAX_ADDRESSES} at most", "too_many")])
    new = PersonAddress(channel=channel, address=address.strip(), verified_at_us=now_us)
    place = _before(person.addresses, channel)
    return replace(person.as_written, addresses=_ranked([*person.addresses[:place], new, *person.addresses[place:]]))


def with_first(person: Person, channel: str, address: str) -> NewPerson:
    """The others follow in their order."""
    places = sorted(person.addresses, key=lambda one: not is_at(one, channel, address))
    return replace(person.as_written, addresses=_ranked(places))


def _before(addresses: tuple[PersonAddress, ...], channel: str) -> int:
    unproved = (place for place, one in enumerate(addresses) if one.channel == channel and one.verified_at_us is None)
    return next(unproved, len(addresses))


def _ranked(places: Iterable[PersonAddress]) -> tuple[PersonAddress, ...]:
    return tuple(replace(one, rank=rank) for rank, one in enumerate(places, 1))
