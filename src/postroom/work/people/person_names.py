"""What a person may be called, and which agent address may be theirs."""

from __future__ import annotations

from typing import Final

from postroom.domain.agent_address import CONTACT_PREFIX, HOUSEHOLD_OWNER, parse_address
from postroom.domain.errors import FieldError
from postroom.domain.fields import text_problem
from postroom.domain.person import MAX_NAME_CHARACTERS
from postroom.work.people.normalise import normalise

MAX_ALIASES: Final = 50


def check_names(name: str, aliases: tuple[str, ...], complaints: list[FieldError], *, place: str) -> None:
    """`place` is how the caller writes the field of one alias."""
    _check_name("name", name, complaints)
    for number, alias in enumerate(aliases[:MAX_ALIASES]):
        _check_name(place.format(number), alias, complaints)
    if len(aliases) > MAX_ALIASES:
        complaints.append(FieldError("aliases", f"may be {MAX_ALIASES} at most", "too_many"))


def checked_agent(agent: str | None, own: str | None, complaints: list[FieldError]) -> str | None:
    """`own` is the address this person has already, given out by the household or not."""
    if agent is None:
        return None
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
