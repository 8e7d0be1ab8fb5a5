"""What a person may be written down as: name, role, zone, language and addresses, checked field by field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.fields import text_problem
from postroom.kernel.values.principal import CONTACT_PREFIX, HOUSEHOLD_OWNER, OWNER, parse_address
from postroom.kernel.values.zones import is_zone
from postroom.message.delivery import folded
from postroom.people.model import (
    MAX_ADDRESSES,
    MAX_NAME_CHARACTERS,
    NewPerson,
    Person,
    PersonAddress,
    PersonRole,
    distinct,
    is_at,
)
from postroom.people.names.normalise import normalise

TELEGRAM: Final = "telegram"
EMAIL: Final = "email"
MOST_RANKS: Final = 50
MAX_LABEL_CHARACTERS: Final = 64
MAX_ALIASES: Final = 50
_RANKS: Final = {TELEGRAM: 1, EMAIL: 2}
KEYED: Final = {"telegram_chat_id": TELEGRAM, "email": EMAIL}
"""What a contact calls its addresses on these two."""
_TELEGRAM: Final = re.compile(r"-?[1-9][0-9]{0,18}|@[A-Za-z][A-Za-z0-9_]{3,31}")
_EMAIL: Final = re.compile(r"[^\s@<>,;:\"()\[\]\\]{1,64}@[^\s@<>,;:\"()\[\]\\]{1,255}")
_MAX_LANGUAGE_CHARACTERS: Final = 35
_LANGUAGE: Final = re.compile(  # RFC 5646, the form of a language tag
    r"[a-z]{2,3}(-[a-z]{3}){0,3}(-[a-z]{4})?(-([a-z]{2}|[0-9]{3}))?(-([a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*"
    r"(-[0-9a-wy-z](-[a-z0-9]{2,8})+)*(-x(-[a-z0-9]{1,8})+)?",
    re.ASCII | re.IGNORECASE,
)
_BUTLER: Final = re.compile(r"[a-z][a-z0-9_-]{0,40}", re.ASCII)
AddressForms = Mapping[str, Callable[[str], str | None]]  # by channel: a text as its canonical address, or None


def new_person(written: NewPerson, forms: AddressForms, before: Person | None = None) -> NewPerson:
    """Raises Refused with every field that is wrong; `before` is the person as kept so far."""
    complaints: list[FieldError] = []
    aliases = tuple(one.strip() for one in written.aliases)
    _check_names(written.name, aliases, complaints, place="aliases.{}")
    _check_role(written.role, before, complaints)
    _check_language(written.language, complaints)
    _check_butler(written.default_butler, complaints)
    person = NewPerson(
        name=written.name.strip(),
        aliases=aliases,
        agent_address=_agent(written.agent_address, before.agent_address if before else None, complaints),
        role=written.role,
        trusted=written.trusted,
        zone=_zone(written.zone, before, complaints),
        language=written.language or None,
        addresses=_addresses(written.addresses, forms, before, complaints),
        default_butler=written.default_butler or None,
    )
    if complaints:
        raise Refused.of(Code.SCHEMA_INVALID, complaints)
    return person


def _check_role(role: PersonRole, before: Person | None, complaints: list[FieldError]) -> None:
    is_owner = before is not None and before.id == OWNER
    if is_owner and role is not PersonRole.OWNER:
        complaints.append(FieldError("role", "of the owner stays owner", "not_allowed"))
    elif not is_owner and role is PersonRole.OWNER:
        complaints.append(FieldError("role", "owner is the one person this household belongs to", "not_allowed"))


def _zone(zone: str | None, before: Person | None, complaints: list[FieldError]) -> str | None:
    """One that was kept before may be known to another machine only."""
    if not zone or (before is not None and zone == before.zone):
        return zone or None
    if not is_zone(zone):
        complaints.append(FieldError("zone", "must be an IANA time zone such as Europe/Berlin", "unknown_zone"))
    return zone


def _check_language(language: str | None, complaints: list[FieldError]) -> None:
    if language and (len(language) > _MAX_LANGUAGE_CHARACTERS or not _LANGUAGE.fullmatch(language)):
        complaints.append(FieldError("language", "must be a language tag such as en or pt-BR", "not_a_language"))


def _check_butler(name: str | None, complaints: list[FieldError]) -> None:
    """By its form alone: which butlers there are is known where messages are routed."""
    if name and not _BUTLER.fullmatch(name):
        complaints.append(FieldError("default_butler", "must be the name of a butler, such as general", "not_a_butler"))


def _addresses(
    written: tuple[PersonAddress, ...], forms: AddressForms, before: Person | None, complaints: list[FieldError]
) -> tuple[PersonAddress, ...]:
    if len(written) > MAX_ADDRESSES:
        complaints.append(FieldError("addresses", f"may be {MAX_ADDRESSES} at most", "too_many"))
        return ()
    kept = {one.key: one for one in (before.addresses if before else ())}
    found: dict[tuple[str, str], PersonAddress] = {}
    for place, given in enumerate(written):
        one = _address(f"addresses.{place}", given, forms, kept, complaints)
        if one is None:
            continue
        if (key := one.key) in found:
            complaints.append(FieldError(f"addresses.{place}.address", "is given twice", "duplicate"))
        found[key] = one
    return tuple(sorted(found.values(), key=lambda one: one.rank))


def _address(
    field: str,
    given: PersonAddress,
    forms: AddressForms,
    kept: Mapping[tuple[str, str], PersonAddress],
    complaints: list[FieldError],
) -> PersonAddress | None:
    """An address that stays is not looked at again, so what was proved of it stays true and its channel may be gone."""
    if not 1 <= given.rank <= MOST_RANKS:
        complaints.append(FieldError(f"{field}.rank", f"must be from 1 to {MOST_RANKS}", "out_of_range"))
    _check_label(f"{field}.label", given.label, complaints)
    known = kept.get((given.channel, folded(given.address.strip())))
    text = known.address if known else _canonical(field, given, forms, complaints)
    if text is None:
        return None
    known = known or kept.get((given.channel, folded(text)))
    return PersonAddress(
        channel=given.channel,
        address=known.address if known else text,
        rank=given.rank,
        verified_at_us=known.verified_at_us if known else None,
        label=given.label.strip(),
    )


def _canonical(field: str, given: PersonAddress, forms: AddressForms, complaints: list[FieldError]) -> str | None:
    form = forms.get(given.channel)
    if form is None:
        error = f"must be one of {', '.join(sorted(forms))}"
        complaints.append(FieldError(f"{field}.channel", error, "unknown_channel"))
        return None
    text = None if text_problem(given.address) else form(given.address)
    if text is None:
        complaints.append(FieldError(f"{field}.address", f"is no address of {given.channel}", "not_an_address"))
    return text


def _check_label(field: str, label: str, complaints: list[FieldError]) -> None:
    if problem := text_problem(label):
        complaints.append(FieldError(field, problem, "invalid_text"))
    elif len(label) > MAX_LABEL_CHARACTERS:
        complaints.append(FieldError(field, f"must have at most {MAX_LABEL_CHARACTERS} characters", "too_long"))


# What a person may be called, and which agent address may be theirs.


def _check_names(name: str, aliases: tuple[str, ...], complaints: list[FieldError], *, place: str) -> None:
    """`place` is how the caller writes the field of one alias."""
    _check_name("name", name, complaints)
    for number, alias in enumerate(aliases[:MAX_ALIASES]):
        _check_name(place.format(number), alias, complaints)
    if len(aliases) > MAX_ALIASES:
        complaints.append(FieldError("aliases", f"may be {MAX_ALIASES} at most", "too_many"))


def _agent(agent: str | None, own: str | None, complaints: list[FieldError]) -> str | None:
    """`own` is the address this person has already, given out by the household or not."""
    if agent is None or agent == own:
        return agent
    address = parse_address(agent)
    if address is None:
        complaints.append(FieldError("agent", "must be an agent address", "invalid_agent_address"))
        return None
    if address != own and (address == HOUSEHOLD_OWNER or address.startswith(CONTACT_PREFIX)):
        complaints.append(FieldError("agent", "is an address the household gives out itself", "reserved"))
    return address


def _check_name(field: str, name: str, complaints: list[FieldError]) -> None:
    """A name has at least one letter or digit in some script; one is enough."""
    if problem := text_problem(name):
        complaints.append(FieldError(field, problem, "invalid_text"))
    elif not normalise(name):
        complaints.append(FieldError(field, "must have at least one letter", "blank"))
    elif len(name) > MAX_NAME_CHARACTERS:
        complaints.append(FieldError(field, f"must have at most {MAX_NAME_CHARACTERS} characters", "too_long"))


# A contact: a name, two addresses that have fields of their own, and further ones.


def new_contact(
    *,
    name: str,
    aliases: Iterable[str] = (),
    agent: str | None = None,
    telegram_chat_id: str | None = None,
    email: str | None = None,
    trusted: bool = False,
    own_id: str | None = None,
) -> NewPerson:
    """Raises Refused with every field that is wrong; `own_id` is the contact's, when it exists already."""
    complaints: list[FieldError] = []
    said = tuple(one.strip() for one in aliases)
    _check_names(name, said, complaints, place="aliases[{}]")
    address = _agent(agent, f"{CONTACT_PREFIX}{own_id}" if own_id else None, complaints)
    telegram = folded((telegram_chat_id or "").strip()) or None
    if telegram and not _TELEGRAM.fullmatch(telegram):
        complaints.append(FieldError("telegram_chat_id", "must be a chat id or an @username", "not_an_address"))
    mail = folded((email or "").strip()) or None
    if mail and (not _EMAIL.fullmatch(mail) or text_problem(mail)):
        complaints.append(FieldError("email", "must be an e-mail address", "not_an_address"))
    if complaints:
        raise Refused.of(Code.SCHEMA_INVALID, complaints)
    return NewPerson(
        name=name.strip(),
        aliases=said,
        agent_address=address,
        trusted=trusted,
        addresses=contact_addresses(telegram, mail),
    )


def contact_addresses(telegram_chat_id: str | None, email: str | None) -> tuple[PersonAddress, ...]:
    written = ((TELEGRAM, telegram_chat_id), (EMAIL, email))
    return tuple(
        PersonAddress(channel=channel, address=address, rank=_RANKS[channel]) for channel, address in written if address
    )


def further_addresses(texts: Iterable[str], forms: AddressForms) -> tuple[PersonAddress, ...]:
    """As CHANNEL:ADDRESS, tried after those two; raises ValueError with a sentence."""
    return tuple(_further(text, forms, rank) for rank, text in enumerate(texts, len(_RANKS) + 1))


def vouched(
    telegram_chat_id: str | None, email: str | None, now_us: int, further: Iterable[PersonAddress] = ()
) -> tuple[PersonAddress, ...]:
    """Addresses that need no proof, because the one who runs the household wrote them down."""
    places = contact_addresses((telegram_chat_id or "").strip(), (email or "").strip())
    return tuple(replace(one, verified_at_us=now_us) for one in distinct((*places, *further)))


def rewritten(known: Person, contact: NewPerson) -> NewPerson:
    """The person as the contact was written anew; what a contact has no words for stays as it is."""
    return replace(
        known.as_written,
        name=contact.name,
        aliases=contact.aliases,
        agent_address=contact.agent_address,
        trusted=contact.trusted,
        addresses=tuple(sorted(_places(known, contact.addresses), key=lambda one: one.rank)),
    )


def _places(known: Person, written: Sequence[PersonAddress]) -> Iterable[PersonAddress]:
    """The first address on each of the two channels is replaced; one that stays the same stays proved."""
    for one in written:
        same = (place for place in known.addresses if is_at(place, one.channel, one.address))
        yield next(same, one)
    shown = [(channel, known.address_on(channel)) for channel in _RANKS]
    for place in known.addresses:
        is_written = any(is_at(place, one.channel, one.address) for one in written)
        if (place.channel, place.address) not in shown and not is_written:
            yield place


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
