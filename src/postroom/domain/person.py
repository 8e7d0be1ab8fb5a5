"""A person the household knows: one record, with addresses on any channel."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Final

from postroom.domain.closed_address import ClosedAddress

MAX_NAME_CHARACTERS: Final = 255
MAX_ADDRESSES: Final = 50
SIGN_IN: Final = "sign-in"  # the source of those who are known because they can sign in
FROM_SETTINGS: Final = "settings"
INBOX: Final = "inbox"  # labels the address a person confirmed for e-mail copies


class PersonRole(StrEnum):
    OWNER = "owner"  # one person, to whom the household belongs
    APPROVER = "approver"  # may decide what waits for approval
    MEMBER = "member"  # has an inbox here
    CONTACT = "contact"  # can be written to


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonAddress:
    """Where a person is reached; rank 1 is tried first, and only a verified address may decide anything."""

    channel: str
    address: str
    rank: int = 1
    verified_at_us: int | None = None
    label: str = ""
    came_back: ClosedAddress | None = field(default=None, compare=False)

    @property
    def closed(self) -> ClosedAddress | None:
        """Set while nothing is sent there."""
        return self.came_back if self.came_back and self.came_back.is_closed else None

    @property
    def doubtful(self) -> ClosedAddress | None:
        """Set when mail came back from an address that its owner had proved; it is written to all the same."""
        return self.came_back if self.came_back and not self.came_back.is_closed else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPerson:
    """A person as they are written down."""

    name: str
    aliases: tuple[str, ...] = ()
    agent_address: str | None = None
    role: PersonRole = PersonRole.CONTACT
    trusted: bool = False
    zone: str | None = None
    language: str | None = None
    addresses: tuple[PersonAddress, ...] = ()
    default_butler: str | None = None

    def address_on(self, channel: str) -> str | None:
        return address_on(self.addresses, channel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person in a book; `agent_address` is their own or one made from the id."""

    id: str
    owner_agent: str
    name: str
    aliases: tuple[str, ...]
    agent_address: str
    role: PersonRole
    trusted: bool
    zone: str | None
    language: str | None
    addresses: tuple[PersonAddress, ...]
    source: str
    created_at_us: int
    updated_at_us: int
    default_butler: str | None = None
    """Answers what this person writes to no butler by name."""

    @property
    def is_in_contact_book(self) -> bool:
        """The book is the owner's; those who only sign in are no contacts, and no name is likened to theirs."""
        return self.role is not PersonRole.OWNER and self.source != SIGN_IN

    @property
    def as_written(self) -> NewPerson:
        return NewPerson(**{one.name: getattr(self, one.name) for one in fields(NewPerson)})

    @property
    def is_reachable(self) -> bool:
        return bool(self.addresses)

    @property
    def fingerprint(self) -> str:
        """Changes when a message to this person would arrive somewhere else."""
        places = [[one.channel, one.address] for one in self.addresses]
        return hashlib.sha256(json.dumps([self.agent_address, places]).encode()).hexdigest()[:32]

    @property
    def trusted_addresses(self) -> tuple[PersonAddress, ...]:
        """Where they are written to without asking; one of the household's own people where they proved it."""
        if self.trusted or self.role is PersonRole.OWNER:
            return self.addresses
        is_own = self.role in (PersonRole.APPROVER, PersonRole.MEMBER)
        return tuple(one for one in self.addresses if is_own and one.verified_at_us is not None)

    def address_on(self, channel: str) -> str | None:
        return address_on(self.addresses, channel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overruled:
    """Somebody of whom the settings file says one thing and the database, which wins, another."""

    name: str
    fields: tuple[str, ...]


def address_on(addresses: Sequence[PersonAddress], channel: str) -> str | None:
    """The one that is tried first."""
    here = [one for one in addresses if one.channel == channel]
    return min(here, key=lambda one: one.rank).address if here else None
