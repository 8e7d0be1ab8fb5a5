"""A person as they were written down, checked field by field: the one check behind every door."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from postroom.domain.address_folding import folded
from postroom.domain.errors import Code, FieldError, Refused
from postroom.domain.fields import text_problem
from postroom.domain.person import (
    MAX_ADDRESSES,
    NewPerson,
    Person,
    PersonAddress,
    PersonRole,
)
from postroom.domain.person_draft import DraftAddress, PersonDraft
from postroom.domain.principal import OWNER
from postroom.domain.zone import is_zone
from postroom.work.people.person_names import check_names, checked_agent

MOST_RANKS: Final = 50
MAX_LABEL_CHARACTERS: Final = 64
_MAX_LANGUAGE_CHARACTERS: Final = 35
_LANGUAGE: Final = re.compile(  # RFC 5646, the form of a language tag
    r"[a-z]{2,3}(-[a-z]{3}){0,3}(-[a-z]{4})?(-([a-z]{2}|[0-9]{3}))?(-([a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*"
    r"(-[0-9a-wy-z](-[a-z0-9]{2,8})+)*(-x(-[a-z0-9]{1,8})+)?",
    re.ASCII | re.IGNORECASE,
)

_BUTLER: Final = re.compile(r"[a-z][a-z0-9_-]{0,40}", re.ASCII)

AddressForms = Mapping[str, Callable[[str], str | None]]  # by channel: a text as its canonical address, or None


def new_person(draft: PersonDraft, forms: AddressForms, before: Person | None = None) -> NewPerson:
    """Raises Refused with every field that is wrong; `before` is the person as kept so far."""
    complaints: list[FieldError] = []
    aliases = tuple(one.strip() for one in draft.aliases)
    check_names(draft.name, aliases, complaints, place="aliases.{}")
    person = NewPerson(
        name=draft.name.strip(),
        aliases=aliases,
        agent_address=checked_agent(draft.agent, before.agent_address if before else None, complaints),
        role=_role(draft.role, before, complaints),
        trusted=draft.trusted,
        zone=_zone(draft.zone, before, complaints),
        language=_language(draft.language, complaints),
        addresses=_addresses(draft.addresses, forms, before, complaints),
        default_butler=_butler(draft.default_butler, complaints),
    )
    if complaints:
        raise Refused.of(Code.SCHEMA_INVALID, complaints)
    return person


def _role(role: str, before: Person | None, complaints: list[FieldError]) -> PersonRole:
    if role not in {one.value for one in PersonRole}:
        complaints.append(FieldError("role", f"must be one of {', '.join(PersonRole)}", "not_allowed"))
        return PersonRole.CONTACT
    is_owner = before is not None and before.id == OWNER
    if is_owner and role != PersonRole.OWNER:
        complaints.append(FieldError("role", "of the owner stays owner", "not_allowed"))
    elif not is_owner and role == PersonRole.OWNER:
        complaints.append(FieldError("role", "owner is the one person this household belongs to", "not_allowed"))
    return PersonRole(role)


def _zone(zone: str | None, before: Person | None, complaints: list[FieldError]) -> str | None:
    """One that was kept before may be known to another machine only."""
    if not zone or (before is not None and zone == before.zone):
        return zone or None
    if not is_zone(zone):
        complaints.append(FieldError("zone", "must be an IANA time zone such as Europe/Berlin", "unknown_zone"))
    return zone


def _language(language: str | None, complaints: list[FieldError]) -> str | None:
    if language and (len(language) > _MAX_LANGUAGE_CHARACTERS or not _LANGUAGE.fullmatch(language)):
        complaints.append(FieldError("language", "must be a language tag such as en or pt-BR", "not_a_language"))
    return language or None


def _butler(name: str | None, complaints: list[FieldError]) -> str | None:
    """By its form alone: which butlers there are is known where messages are routed."""
    if name and not _BUTLER.fullmatch(name):
        complaints.append(FieldError("default_butler", "must be the name of a butler, such as general", "not_a_butler"))
    return name or None


def _addresses(
    drafts: tuple[DraftAddress, ...], forms: AddressForms, before: Person | None, complaints: list[FieldError]
) -> tuple[PersonAddress, ...]:
    if len(drafts) > MAX_ADDRESSES:
        complaints.append(FieldError("addresses", f"may be {MAX_ADDRESSES} at most", "too_many"))
        return ()
    kept = {(one.channel, folded(one.address)): one for one in (before.addresses if before else ())}
    found: dict[tuple[str, str], PersonAddress] = {}
    for place, draft in enumerate(drafts):
        one = _address(f"addresses.{place}", place + 1, draft, forms, kept, complaints)
        if one is None:
            continue
        if (key := (one.channel, folded(one.address))) in found:
            complaints.append(FieldError(f"addresses.{place}.address", "is given twice", "duplicate"))
        found[key] = one
    return tuple(sorted(found.values(), key=lambda one: one.rank))


def _address(
    field: str,
    place: int,
    draft: DraftAddress,
    forms: AddressForms,
    kept: Mapping[tuple[str, str], PersonAddress],
    complaints: list[FieldError],
) -> PersonAddress | None:
    """An address that stays is not looked at again, so what was proved of it stays true and its channel may be gone."""
    rank = place if draft.rank is None else draft.rank
    if not 1 <= rank <= MOST_RANKS:
        complaints.append(FieldError(f"{field}.rank", f"must be from 1 to {MOST_RANKS}", "out_of_range"))
    _check_label(f"{field}.label", draft.label, complaints)
    known = kept.get((draft.channel, folded(draft.address.strip())))
    text = known.address if known else _canonical(field, draft, forms, complaints)
    if text is None:
        return None
    known = known or kept.get((draft.channel, folded(text)))
    return PersonAddress(
        channel=draft.channel,
        address=known.address if known else text,
        rank=rank,
        verified_at_us=known.verified_at_us if known else None,
        label=draft.label.strip(),
    )


def _canonical(field: str, draft: DraftAddress, forms: AddressForms, complaints: list[FieldError]) -> str | None:
    form = forms.get(draft.channel)
    if form is None:
        error = f"must be one of {', '.join(sorted(forms))}"
        complaints.append(FieldError(f"{field}.channel", error, "unknown_channel"))
        return None
    text = None if text_problem(draft.address) else form(draft.address)
    if text is None:
        complaints.append(FieldError(f"{field}.address", f"is no address of {draft.channel}", "not_an_address"))
    return text


def _check_label(field: str, label: str, complaints: list[FieldError]) -> None:
    if problem := text_problem(label):
        complaints.append(FieldError(field, problem, "invalid_text"))
    elif len(label) > MAX_LABEL_CHARACTERS:
        complaints.append(FieldError(field, f"must have at most {MAX_LABEL_CHARACTERS} characters", "too_long"))
