"""A person as somebody wrote them down, before anything is checked."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.domain.agent_address import CONTACT_PREFIX
from postroom.domain.person import Person, PersonRole


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftAddress:
    """Without a rank, addresses are tried in the order they are written."""

    channel: str
    address: str
    rank: int | None = None
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonDraft:
    name: str
    aliases: tuple[str, ...] = ()
    agent: str | None = None
    role: str = PersonRole.CONTACT.value
    trusted: bool = False
    zone: str | None = None
    language: str | None = None
    addresses: tuple[DraftAddress, ...] = ()
    default_butler: str | None = None


def draft_of(person: Person) -> PersonDraft:
    """What one would write to get the same person again; an agent address made from the id is not written."""
    places = [DraftAddress(channel=a.channel, address=a.address, rank=a.rank, label=a.label) for a in person.addresses]
    return PersonDraft(
        name=person.name,
        aliases=person.aliases,
        agent=None if person.agent_address == f"{CONTACT_PREFIX}{person.id}" else person.agent_address,
        role=person.role.value,
        trusted=person.trusted,
        zone=person.zone,
        language=person.language,
        addresses=tuple(places),
        default_butler=person.default_butler,
    )
