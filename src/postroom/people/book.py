"""Whose inbox is whose: people are known by their ids, and inboxes by the names in their tokens."""

from __future__ import annotations

from typing import Final

from postroom.kernel.values.principal import OPERATOR, OWNER, Principal, Role

_ANOTHER: Final = f"user:{OWNER}"  # called like the owner's id, and not the owner


def person_of_inbox(user_id: str) -> str:
    """The owner's inbox is the operator's: one and the same person runs the household and owns it."""
    if user_id == OPERATOR.name:
        return OWNER
    return _ANOTHER if user_id == OWNER else user_id


def inbox_of_person(person: str) -> str:
    if person == OWNER:
        return OPERATOR.name
    return OWNER if person == _ANOTHER else person


# Whose inbox a caller may look into: its own, and no other.


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
        case Role.PERSON:
            return _inbox_of_person(caller.name)
        case Role.PROGRAM:
            return _inbox_of_person(caller.person) if caller.person else None
        case Role.BUTLER | Role.CONNECTOR:
            return None


def _inbox_of_person(person_id: str) -> str | None:
    """The owner's is the operator's: one and the same person runs the household and owns it."""
    if person_id == OWNER:
        return OPERATOR_INBOX
    return person_id if person_id != OPERATOR_INBOX else None


def recipient(caller: Principal, named: str | None) -> str | None:
    """For whom a caller may leave a note: for itself; the operator, who runs the household, for anybody."""
    own = inbox_of(caller)
    if caller.role is Role.OPERATOR:
        return named or own
    return own if named in (None, own, caller.person or caller.name) else None
