"""Whose inbox is whose: people are known by their ids, and inboxes by the names in their tokens."""

from __future__ import annotations

from typing import Final

from postroom.domain.principal import OPERATOR, OWNER

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
