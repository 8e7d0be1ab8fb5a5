"""A few characters of an address: enough to tell two people of one name apart."""

from __future__ import annotations

from postroom.domain.person import Person, PersonAddress


def hint_of(person: Person) -> str:
    return ", ".join(_masked(one) for one in person.addresses) or person.agent_address


def _masked(place: PersonAddress) -> str:
    """Of a mailbox the domain says most, of any other address its end."""
    name, at, domain = place.address.partition("@")
    if name and at:
        return f"{name[:1]}…@{domain}"
    return f"{place.channel.capitalize()} …{place.address[-2:]}"
