"""Choices a person has confirmed, and when they no longer count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from postroom.domain.contact_book import Remembered
from postroom.domain.person import Person
from postroom.work.people.normalise import normalise

if TYPE_CHECKING:
    from postroom.work.people.book import FoundEntry


def still_holds(memory: Remembered, contact: Person | None, found: Sequence[FoundEntry]) -> bool:
    """Not once the contact moved or lost the name, nor once somebody fits the words better."""
    if contact is None or contact.fingerprint != memory.fingerprint or not has_alias(contact, memory.alias):
        return False
    mine, best_other = standing(memory.contact_id, found)
    return not (best_other > memory.rival and best_other >= mine)


def has_alias(contact: Person, alias: str) -> bool:
    wanted = normalise(alias)
    return any(normalise(name) == wanted for name in (contact.name, *contact.aliases))


def standing(contact_id: str, found: Sequence[FoundEntry]) -> tuple[float, float]:
    """The score of this contact, and the best of all the others."""
    mine = max((one.match.score for one in found if one.entry.contact_id == contact_id), default=0.0)
    others = max((one.match.score for one in found if one.entry.contact_id != contact_id), default=0.0)
    return mine, others
