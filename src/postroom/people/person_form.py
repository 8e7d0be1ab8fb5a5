"""A person as a form: a line for each address, an empty one for each other channel, and one for another address."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from postroom.console.visit import Form
from postroom.console.words import channel_word
from postroom.message.address import ClosedAddress
from postroom.people.model import DraftAddress, Person, PersonDraft, PersonRole, draft_of

_ROLES = (PersonRole.CONTACT, PersonRole.MEMBER, PersonRole.APPROVER)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressLine:
    """`place` is where the address stands in what was sent; a line without a channel lets one be chosen."""

    channel: str
    word: str
    address: str = ""
    rank: str = ""
    label: str = ""
    verified_at_us: int | None = None
    closed: ClosedAddress | None = None
    doubtful: ClosedAddress | None = None
    place: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonForm:
    """What is typed, kept as it is until it is right."""

    name: str = ""
    aliases: str = ""
    agent: str = ""
    role: str = PersonRole.CONTACT.value
    trusted: bool = False
    zone: str = ""
    language: str = ""
    lines: Sequence[AddressLine] = field(default_factory=tuple)

    @property
    def roles(self) -> Sequence[str]:
        """The owner is one, and stays it."""
        return [self.role] if self.role == PersonRole.OWNER else [str(one) for one in _ROLES]


def shown(person: Person | None, channels: Collection[str], given: tuple[str, str] = ("", "")) -> PersonForm:
    """`given` is a channel and an address there, to begin a new person with."""
    if person is None:
        return PersonForm(lines=_with_blanks(_begun(given, channels), channels))
    draft = draft_of(person)
    lines = [
        AddressLine(
            channel=one.channel,
            word=channel_word(one.channel),
            address=one.address,
            rank=str(one.rank),
            label=one.label,
            verified_at_us=one.verified_at_us,
            closed=one.closed,
            doubtful=one.doubtful,
        )
        for one in person.addresses
    ]
    return PersonForm(
        name=draft.name,
        aliases="\n".join(draft.aliases),
        agent="" if draft.role == PersonRole.OWNER else draft.agent or "",
        role=draft.role,
        trusted=draft.trusted,
        zone=draft.zone or "",
        language=draft.language or "",
        lines=_with_blanks(lines, channels),
    )


def typed(form: Form, before: Person | None, channels: Collection[str]) -> PersonForm:
    names = ("address_channel", "address", "address_rank", "address_label")
    proved = {(one.channel, one.address): one.verified_at_us for one in (before.addresses if before else ())}
    lines: list[AddressLine] = []
    for channel, address, rank, label in zip(*(form.all(name) for name in names), strict=False):
        if address.strip():
            line = AddressLine(
                channel=channel,
                word=channel_word(channel),
                address=address.strip(),
                rank=rank.strip(),
                label=label.strip(),
                verified_at_us=proved.get((channel, address.strip())),
                place=len(lines),
            )
            lines.append(line)
    return PersonForm(
        name=form.get("name").strip(),
        aliases=form.get("aliases"),
        agent=form.get("agent").strip(),
        role=form.get("role") or (before.role.value if before else PersonRole.CONTACT.value),
        trusted=form.get("trusted") == "yes",
        zone=form.get("zone").strip(),
        language=form.get("language").strip(),
        lines=_with_blanks(lines, channels),
    )


def draft(form: PersonForm, before: Person | None) -> PersonDraft:
    """What is not a number is no rank, and the check of all doors says so."""
    is_owner = before is not None and before.role is PersonRole.OWNER
    addresses = [
        DraftAddress(channel=one.channel, address=one.address, rank=_rank(one.rank), label=one.label)
        for one in form.lines
        if one.address
    ]
    return PersonDraft(
        name=form.name,
        aliases=tuple(line for line in form.aliases.splitlines() if line.strip()),
        agent=before.agent_address if before and is_owner else form.agent or None,
        role=form.role,
        trusted=form.trusted,
        zone=form.zone or None,
        language=form.language or None,
        addresses=tuple(addresses),
        default_butler=before.default_butler if before else None,  # not on this page
    )


def _rank(text: str) -> int | None:
    if not text:
        return None
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0


def _begun(given: tuple[str, str], channels: Collection[str]) -> Sequence[AddressLine]:
    channel, address = given[0], given[1].strip()
    return [AddressLine(channel=channel, word=channel_word(channel), address=address)] if channel in channels else []


def _with_blanks(lines: Sequence[AddressLine], channels: Collection[str]) -> Sequence[AddressLine]:
    known = {one.channel for one in lines}
    blanks = [AddressLine(channel=name, word=channel_word(name)) for name in channels if name not in known]
    return [*lines, *blanks, AddressLine(channel="", word="Another address")]
