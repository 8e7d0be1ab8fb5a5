"""What the household knows of a person: names, addresses, devices, and what a look for one by name came to."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Final

from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import CONTACT_PREFIX, OPERATOR, OWNER, Principal, Role
from postroom.message.delivery import ClosedAddress, folded

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
    def key(self) -> tuple[str, str]:
        """The same for all ways of writing it."""
        return self.channel, folded(self.address)

    @property
    def closed(self) -> ClosedAddress | None:
        """Set while nothing is sent there."""
        return self.came_back if self.came_back and self.came_back.is_closed else None

    @property
    def doubtful(self) -> ClosedAddress | None:
        """Set when mail came back from an address that its owner had proved; it is written to all the same."""
        return self.came_back if self.came_back and not self.came_back.is_closed else None


def first_on(addresses: Iterable[PersonAddress], channel: str) -> str | None:
    """The address that is tried first there."""
    here = [one for one in addresses if one.channel == channel]
    return min(here, key=lambda one: one.rank).address if here else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPerson:
    """A person as somebody wrote them down, and, once that was checked, as they are kept."""

    name: str
    aliases: tuple[str, ...] = ()
    agent_address: str | None = None
    role: PersonRole = PersonRole.CONTACT
    trusted: bool = False
    zone: str | None = None
    language: str | None = None
    addresses: tuple[PersonAddress, ...] = ()
    default_butler: str | None = None
    """Answers what this person writes to no butler by name."""

    def address_on(self, channel: str) -> str | None:
        return first_on(self.addresses, channel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person(NewPerson):
    """A person in a book."""

    id: str
    owner_agent: str
    agent_address: str
    source: str
    created_at_us: int
    updated_at_us: int

    @property
    def has_given_address(self) -> bool:
        """Whether the household gave them their agent address."""
        return self.role is PersonRole.OWNER or self.agent_address == f"{CONTACT_PREFIX}{self.id}"

    @property
    def is_in_contact_book(self) -> bool:
        """The book is the owner's; those who only sign in are no contacts, and no name is likened to theirs."""
        return self.role is not PersonRole.OWNER and self.source != SIGN_IN

    @property
    def as_written(self) -> NewPerson:
        return NewPerson(**{one.name: getattr(self, one.name) for one in fields(NewPerson)})

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Overruled:
    """Somebody of whom the settings file says one thing and the database, which wins, another."""

    name: str
    fields: tuple[str, ...]


def no_person() -> Refused:
    return Refused(Code.NOT_FOUND, "there is no such person")


# The order of a person's addresses, when one of them is proved or comes first.


def distinct(addresses: Iterable[PersonAddress]) -> tuple[PersonAddress, ...]:
    """Each once, the one that is tried first; in the order in which they are read again."""
    kept: dict[tuple[str, str], PersonAddress] = {}
    for one in sorted(addresses, key=lambda place: place.rank):
        kept.setdefault(one.key, one)
    return tuple(kept.values())


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
    new = PersonAddress(channel=channel, address=address.strip(), verified_at_us=now_us)
    return with_new(person, new, before=lambda one: one.channel == channel and one.verified_at_us is None)


def with_new(person: Person, new: PersonAddress, *, before: Callable[[PersonAddress], bool]) -> NewPerson:
    """Before the first of those, or else behind all others."""
    places = person.addresses
    if len(places) >= MAX_ADDRESSES:
        raise Refused.of(Code.SCHEMA_INVALID, [FieldError("addresses", f"may be {MAX_ADDRESSES} at most", "too_many")])
    at = next((place for place, one in enumerate(places) if before(one)), len(places))
    return replace(person.as_written, addresses=ranked([*places[:at], new, *places[at:]]))


def with_first(person: Person, channel: str, address: str) -> NewPerson:
    """The others follow in their order."""
    places = sorted(person.addresses, key=lambda one: not is_at(one, channel, address))
    return replace(person.as_written, addresses=ranked(places))


def ranked(places: Iterable[PersonAddress]) -> tuple[PersonAddress, ...]:
    return tuple(replace(one, rank=rank) for rank, one in enumerate(places, 1))


# Names as they are compared, and choices as they are remembered.


@dataclass(frozen=True, slots=True)
class Keys:
    """One name, four ways: as written, without optional marks, in Latin letters, by its consonants."""

    normal: str
    folded: str
    latin: str
    skeletons: tuple[str, ...]
    script: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One name of one contact."""

    id: str
    contact_id: str
    alias: str
    keys: Keys


class ConfirmSource(StrEnum):
    USER_CHOICE = "user_choice"
    CONFIRM_SEND = "confirm_send"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """For this owner, `query` means this contact; `rival` is the best other score when that was confirmed."""

    id: str
    owner_agent: str
    query: str
    contact_id: str
    agent_address: str
    alias: str
    fingerprint: str
    rival: float
    book_version: int
    source: str
    confirm_count: int
    created_at_us: int
    confirmed_at_us: int


@dataclass(frozen=True, slots=True)
class BookGlance:
    """One look at an owner's book: its version, the memory of a query, and who has these words as an address."""

    version: int
    memory: Remembered | None
    remembered: Person | None
    addressed: Person | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Candidates that were shown for a query, under a token that works once."""

    token_hash: str
    owner_agent: str
    query: str
    candidates: tuple[Candidate, ...]
    created_at_us: int
    expires_at_us: int


# What looking for a person or an agent by name came to.


class MatchType(StrEnum):
    EXPLICIT = "explicit"
    MEMORY = "memory"
    EXACT = "exact"
    FUZZY = "fuzzy"
    SMART_FUZZY = "smart_fuzzy"


class DecisionMode(StrEnum):
    SENT = "sent"
    RESOLVED = "resolved"
    NEEDS_CONFIRMATION = "needs_confirmation"
    NEEDS_DISAMBIGUATION = "needs_disambiguation"
    CONTACT_NOT_FOUND = "contact_not_found"


class InputMode(StrEnum):
    TEXT = "text"
    VOICE = "voice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Somebody a name may have meant, and why we think so."""

    agent_address: str
    display_name: str
    alias: str
    match_type: MatchType
    score: float
    hint: str
    why: str
    contact_id: str = ""
    fingerprint: str = ""
    resolution_token: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What became of a name. `resolved` means: good enough to send without asking anybody."""

    query: str
    decision_mode: DecisionMode
    why: str
    match_type: MatchType | None = None
    candidates: tuple[Candidate, ...] = ()
    resolution_token: str | None = None
    expires_at: str | None = None

    @property
    def resolved(self) -> bool:
        return self.decision_mode is DecisionMode.RESOLVED

    @property
    def chosen(self) -> Candidate | None:
        return self.candidates[0] if self.resolved else None

    @property
    def matched_alias(self) -> str | None:
        return self.chosen.alias if self.chosen else None

    @property
    def agent_address(self) -> str | None:
        return self.chosen.agent_address if self.chosen else None

    @property
    def score(self) -> float | None:
        return self.candidates[0].score if self.candidates else None


# Pairings: how a person proves that an address is theirs.

PAIRING_LIFE_SECONDS: Final = 3600.0
MOST_OPEN_PAIRINGS: Final = 3  # of one person, codes and links together
MOST_WRONG_CODES: Final = 10
CODES_CLOSED_SECONDS: Final = 3600.0
_CODES_CLOSED_US: Final = seconds(CODES_CLOSED_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPairing:
    """`digest` is what is kept of a code; without one a link is sent to `address`."""

    id: str
    person_id: str
    channel: str
    digest: str | None = None
    address: str | None = None
    created_at_us: int

    @property
    def expires_at_us(self) -> int:
        return self.created_at_us + seconds(PAIRING_LIFE_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeSent:
    """What looks like codes in one message, by their digests, and who sent it by the channel's own proof."""

    channel: str
    sender: str
    event_id: str
    digests: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongCodes:
    """Of one sender; ten of them within an hour, and for an hour no code helps."""

    count: int = 0
    last_at_us: int = 0

    def is_closed(self, now_us: int) -> bool:
        return self.count >= MOST_WRONG_CODES and self._is_recent(now_us)

    def and_more(self, wrong: int, now_us: int) -> WrongCodes:
        """While no code helps, more of them make it no longer."""
        if self.is_closed(now_us):
            return self
        before = self.count if self._is_recent(now_us) else 0
        return replace(self, count=before + wrong, last_at_us=now_us)

    def _is_recent(self, now_us: int) -> bool:
        return now_us < self.last_at_us + _CODES_CLOSED_US


# A browser that has agreed to show what the household sends it: an address of a person, under a short id.

DEVICE_ID: Final = re.compile(r"[0-9a-f]{16}")
MOST_NAME_CHARACTERS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class PushSubscription:
    """Where its push service takes messages, and the keys that only this browser can read them with; all secret."""

    endpoint: str = field(repr=False)
    p256dh: str = field(repr=False)
    auth: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PushDevice:
    """`id` is the address; `mark` tells the browser itself which one it is, and no one else where it is reached."""

    id: str
    channel: str
    person_id: str
    name: str
    mark: str
    created_at_us: int
    last_used_at_us: int | None = None
    ended_at_us: int | None = None
    """Its push service knows it no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifiedMessage:
    """What a notification was about, with its whole text."""

    sender: str
    subject: str | None = field(repr=False)
    text: str = field(repr=False)
    created_at_us: int


# Whose inbox is whose: people are known by their ids, and inboxes by the names in their tokens.

CONFIRMATION_ORIGIN: Final = "inbox.confirmation"  # no butler's name has a dot


class Purpose(StrEnum):
    INBOX = "inbox"  # copies of a person's notifications may go there
    PAIRING = "pairing"  # the address is verified as that person's


_ANOTHER: Final = f"user:{OWNER}"  # called like the owner's id, and not the owner


def person_of_inbox(user_id: str) -> str:
    """The owner's inbox is the operator's: one and the same person runs the household and owns it."""
    if user_id == OPERATOR.name:
        return OWNER
    return _ANOTHER if user_id == OWNER else user_id


def inbox_of_person(person: str) -> str:
    if person == OWNER:
        return OPERATOR.name
    return OWNER if person == _ANOTHER else person


def inbox_of(caller: Principal) -> str | None:
    """
    The user id behind a token, or None for callers that have no inbox.

    A user who happens to be called like the operator's inbox would share it,
    so that name opens nothing.
    """
    match caller.role:
        case Role.OPERATOR:
            return OPERATOR.name
        case Role.USER:
            named: str | None = caller.name
        case Role.PERSON | Role.PROGRAM:
            named = caller.name if caller.role is Role.PERSON else caller.person
            if named == OWNER:
                return OPERATOR.name
        case Role.BUTLER | Role.CONNECTOR:
            return None
    return named if named and named != OPERATOR.name else None


def recipient(caller: Principal, named: str | None) -> str | None:
    """For whom a caller may leave a note: for itself; the operator, who runs the household, for anybody."""
    own = inbox_of(caller)
    if caller.role is Role.OPERATOR:
        return named or own
    return own if named in (None, own, caller.person or caller.name) else None
