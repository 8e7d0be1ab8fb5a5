"""A contact as somebody wrote it down, checked field by field."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from postroom.domain.address_folding import folded
from postroom.domain.agent_address import CONTACT_PREFIX
from postroom.domain.errors import Code, FieldError, Refused
from postroom.domain.fields import text_problem
from postroom.domain.person import NewPerson
from postroom.work.people.contact_addresses import contact_addresses
from postroom.work.people.person_names import check_names, checked_agent

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
    check_names(name, said, complaints, place="aliases[{}]")
    address = checked_agent(agent, f"{CONTACT_PREFIX}{own_id}" if own_id else None, complaints)
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
