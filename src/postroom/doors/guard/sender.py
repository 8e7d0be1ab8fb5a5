"""In whose name a caller's messages leave."""

from __future__ import annotations

from postroom.domain.principal import Principal, Role


def sender_of(one: Principal) -> str | None:
    """A butler's name, or that of a program as no butler can be called; None for those who send nothing."""
    match one.role:
        case Role.BUTLER:
            return one.name
        case Role.PROGRAM | Role.OPERATOR:
            return str(one)
        case _:
            return None
