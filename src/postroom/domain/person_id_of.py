"""Whom an address of ours names."""

from __future__ import annotations

from postroom.domain.principal import OWNER, Principal, Role


def person_id_of(caller: Principal) -> str | None:
    """The person behind a token; None for programs, whomever they work for."""
    match caller.role:
        case Role.OPERATOR:
            return OWNER
        case Role.PERSON | Role.USER:
            return caller.name
        case Role.BUTLER | Role.CONNECTOR | Role.PROGRAM:
            return None
