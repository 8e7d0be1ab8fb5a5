"""Whose inbox a caller may look into: its own, and no other."""

from __future__ import annotations

from typing import Final

from postroom.domain.principal import Principal, Role

OPERATOR_INBOX: Final = "operator"


def inbox_of(caller: Principal) -> str | None:
    """
    The user id behind a token, or None for callers that have no inbox.

    A user who happens to be called like the operator's inbox would share it,
    so that name opens nothing.
    """
    match caller.role:
        case Role.OPERATOR:
            return OPERATOR_INBOX
        case Role.USER:
            return caller.name if caller.name != OPERATOR_INBOX else None
        case Role.BUTLER | Role.CONNECTOR:
            return None


def recipient(caller: Principal, named: str | None) -> str | None:
    """For whom a caller may leave a note: for itself; the operator, who runs the household, for anybody."""
    own = inbox_of(caller)
    if caller.role is Role.OPERATOR:
        return named or own
    return own if named in (None, own) else None
