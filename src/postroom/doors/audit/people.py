"""Which person a principal's text means, and how one person may stand in a record."""

from __future__ import annotations

from postroom.domain.principal import OPERATOR, OWNER, Principal, Role


def person_in(text: str) -> str:
    """The id of the person a principal or a subject names; empty when it names none."""
    kind, colon, identifier = text.partition(":")
    if text == OPERATOR.name:
        return OWNER
    return identifier if colon and kind in (Role.PERSON, Role.USER) else ""


def actors_of(person_id: str) -> tuple[str, ...]:
    own = tuple(str(Principal(role, person_id)) for role in (Role.PERSON, Role.USER))
    return (*own, OPERATOR.name) if person_id == OWNER else (*own, person_id)
