"""Times as a person says them: "3 minutes ago", "in 2 hours"."""

from __future__ import annotations

import math
from typing import Final

from postroom.domain.time import SECOND_US

_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_HIDES_LITTLE: Final = {"day": 3_600, "hour": 60}  # what "1 day" and "1 hour" may leave unsaid
_JUST_NOW_SECONDS: Final = 2
_NEARLY_SECONDS: Final = 60


def duration(seconds: float) -> str:
    """
    One unit, rounded down, as people do: 119 seconds are "1 minute", 2 days and 7 hours are "2 days".

    Where that would hide half of it, the next smaller unit: 47 hours are no "1 day", 90 minutes no "1 hour".
    """
    whole = int(max(seconds, 0))
    for size, name in _UNITS:
        many, rest = divmod(whole, size)
        if many > 1 or (many == 1 and rest < _HIDES_LITTLE.get(name, size)):
            return f"{many} {name}" if many == 1 else f"{many} {name}s"
    return "less than a second"


def relative(moment_us: int, now_us: int) -> str:
    """Seen from now; two clocks that differ a little do not make a thing future."""
    seconds = (now_us - moment_us) / SECOND_US
    if abs(seconds) < _JUST_NOW_SECONDS:
        return "just now"
    return f"{duration(seconds)} ago" if seconds > 0 else f"in {_left(-seconds)}"


def _left(seconds: float) -> str:
    """What was given 48 hours a moment ago has 2 days, not 47 hours."""
    return duration(math.ceil(seconds / _NEARLY_SECONDS) * _NEARLY_SECONDS if seconds > 3_600 else seconds)
