"""Why a notice waits, in the words people read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from postroom.domain.attention import Because

_B = Because

BECAUSE_WORDS: Final[Mapping[Because, str]] = {
    _B.QUIET: "quiet hours",
    _B.SLOT: "it waits for its slot of the day",
    _B.SNOOZE: "it was snoozed",
    _B.BUDGET: "its sender has used up its interruptions",
    _B.COLLECT: "it is collected with others",
    _B.AWAY: "the person is away",
    _B.CHANNEL: "the channel is down",
    _B.APPROVAL: "it waits for an approval",
    _B.RETURNED: "it could not be handed over yet",
    _B.CEILING: "it may not be more urgent here",
    _B.DUPLICATE: "the same was said before",
    _B.SUPERSEDED: "a newer one takes its place",
    _B.PARENT: "what started it has spoken",
    _B.TOMBSTONE: "it was withdrawn before it came",
    _B.EXPIRED: "it is too late for it",
    _B.OVER_BUDGET: "over the number of interruptions",
    _B.LONGEST_HOLD: "it has waited long enough",
    _B.EMPTY_STEP: "there is no one more to reach",
    _B.FAILED: "it could not be delivered",
    _B.LATE: "it is late",
    _B.MUTED: "it is muted",
    _B.UNANSWERED: "no one acknowledged it",
    _B.WITHDRAWN: "it was withdrawn",
    _B.UPDATED: "it was changed",
    _B.STEP: "the next step of the escalation",
    _B.REPEAT: "it was not acknowledged",
}


def because(reasons: Iterable[str]) -> str:
    """One or several, as they stand in an answer."""
    return ", ".join(BECAUSE_WORDS.get(_NAMED[one], one) if one in _NAMED else one for one in reasons)


_NAMED: Final = {str(one): one for one in Because}
