"""How long one answer of a provider may keep a channel waiting."""

from __future__ import annotations

from typing import Final

from postroom.domain.spoken_time import duration

LONGEST_SECONDS: Final = 3_600.0  # waiting uses up no attempt, so asking again costs one call and no message
_ASKED: Final = "it asked for a wait of "


def shortened(asked_seconds: float) -> str:
    """What to add to the provider's words when its wait is cut, and nothing when it is not."""
    if asked_seconds <= LONGEST_SECONDS:
        return ""
    return f"; {_ASKED}{duration(asked_seconds)}, which is cut to {duration(LONGEST_SECONDS)} and asked again then"


def said_so(reason: str) -> str:
    """The same words out of a recorded reason."""
    return reason[place:] if (place := reason.find(_ASKED)) >= 0 else ""
