"""Why a message is not shown now, in a word or two; `why` says it in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from postroom.domain.attention import Because

_WORDS: Final[Mapping[str, str]] = {
    Because.QUIET: "quiet hours",
    Because.SLOT: "its slot of the day",
    Because.SNOOZE: "snoozed",
    Because.BUDGET: "too many today",
    Because.COLLECT: "collected with others",
    Because.AWAY: "away",
    Because.CHANNEL: "the channel is down",
    Because.APPROVAL: "an approval",
    Because.CEILING: "a lower urgency here",
    Because.DUPLICATE: "said before",
    Because.SUPERSEDED: "a newer one",
    Because.TOMBSTONE: "withdrawn before it came",
    Because.OVER_BUDGET: "too many today, and urgent",
    Because.LONGEST_HOLD: "held long enough",
    Because.STEP: "not acknowledged",
    Because.REPEAT: "not acknowledged",
}


def because(reasons: Iterable[str]) -> str:
    """One or several, as they stand in an answer."""
    return ", ".join(dict.fromkeys(_WORDS.get(one, one.replace("_", " ")) for one in reasons))
