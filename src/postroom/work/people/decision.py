"""Whether what was found is certain enough to send, worth asking about, or nobody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from postroom.domain.contact import DecisionMode, InputMode, MatchType

if TYPE_CHECKING:
    from postroom.work.people.book import FoundEntry

CONFIRM_FROM: Final = 0.66
CONFIRM_FROM_VOICE: Final = 0.72
NAMESAKE_FROM: Final = 0.9  # the name is a whole word of theirs
BAND: Final = 0.06  # nobody can tell names this close apart
SHORT_WHEN_HEARD: Final = 4


@dataclass(frozen=True, slots=True)
class MatchVerdict:
    mode: DecisionMode
    found: tuple[FoundEntry, ...]
    why: str


def decide(found: Sequence[FoundEntry], query: str, input_mode: InputMode, limit: int = 5) -> MatchVerdict:
    """
    Only a name that is exactly one contact's goes through by itself.

    Nothing in the letters tells "Marta Rossi" from a slip in "Maria Rossi", so
    likeness, however great, is always put to the person.
    """
    threshold = CONFIRM_FROM_VOICE if input_mode is InputMode.VOICE else CONFIRM_FROM
    exact = [one for one in found if one.match.match_type is MatchType.EXACT]
    if len(exact) > 1:
        others = [one for one in found if one not in exact and one.match.score >= NAMESAKE_FROM]
        offered = (*exact, *others)[:limit]
        return MatchVerdict(DecisionMode.NEEDS_DISAMBIGUATION, offered, "several contacts have this name")
    if exact and not _is_easily_misheard(query, input_mode):
        return MatchVerdict(DecisionMode.RESOLVED, (exact[0],), exact[0].match.why)
    if exact:
        return MatchVerdict(DecisionMode.NEEDS_CONFIRMATION, (exact[0],), "a name this short is easily misheard")
    if not found or found[0].match.score < threshold:
        return MatchVerdict(DecisionMode.CONTACT_NOT_FOUND, (), "nobody in the book has a name like this")
    near = [one for one in found if one.match.score >= max(threshold, found[0].match.score - BAND)]
    if len(near) > 1:
        return MatchVerdict(
            DecisionMode.NEEDS_DISAMBIGUATION, tuple(near[:limit]), "several contacts are equally alike"
        )
    return MatchVerdict(DecisionMode.NEEDS_CONFIRMATION, (near[0],), f"not the exact name: {near[0].match.why}")


def _is_easily_misheard(query: str, input_mode: InputMode) -> bool:
    return input_mode is InputMode.VOICE and sum(one.isalnum() for one in query) < SHORT_WHEN_HEARD
