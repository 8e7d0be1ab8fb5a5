"""A contact as somebody wrote it down, checked field by field."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from postroom.domain.address_folding import folded
from postroom.domain.agent_address import CONTACT_PREFIX, HOUSEHOLD_OWNER, parse_address
from postroom.domain.errors import Code, FieldError, Refused
from postroom.domain.fields import text_problem
from postroom.domain.person import MAX_NAME_CHARACTERS, NewPerson
from postroom.work.people.contact_addresses import contact_addresses
from postroom.work.people.normalise import normalise

MAX_ALIASES: Final = 50
_TELEGRAM: Final = re.compile(r"-?[1-9][0-9]{0,18}|@[A-Za-z][A-Za-z0-9_]{3,31}")
_EMAIL: Final = re.compile(r"[^\s@<>,;:\"()\[\]\\]{1,64}@[^\s@<>,;:\"()\[\]\\]{1,255}")


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
    _check_name("name", name, complaints)
    for place, alias in enumerate(said[:MAX_ALIASES]):
        _check_name(f"aliases[{place}]", alias, complaints)
    if len(said) > MAX_ALIASES:
        complaints.append(FieldError("aliases", f"may be {MAX_ALIASES} at most", "too_many"))
    address = _agent(agent, own_id, complaints)
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


def _check_name(field: str, name: str, complaints: list[FieldError]) -> None:
    """A name has at least one letter or digit in some script; one is enough."""
    if problem := text_problem(name):
        complaints.append(FieldError(field, problem, "invalid_text"))
    elif not normalise(name):
        complaints.append(FieldError(field, "must have at least one letter", "blank"))
    elif len(name) > MAX_NAME_CHARACTERS:
        complaints.append(FieldError(field, f"must have at most {MAX_NAME_CHARACTERS} characters", "too_long"))


def _agent(agent: str | None, own_id: str | None, complaints: list[FieldError]) -> str | None:
    if agent is None:
        return None
    address = parse_address(agent)
    if address is None:
        complaints.append(FieldError("agent", "must be an agent address", "invalid_agent_address"))
        return None
    if address == HOUSEHOLD_OWNER or (
        address.startswith(CONTACT_PREFIX) and address != f"{CONTACT_PREFIX}{own_id or ''}"
    ):
        complaints.append(FieldError("agent", "is an address the household gives out itself", "reserved"))
    return address
