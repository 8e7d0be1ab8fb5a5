"""Times as a person says them: "3 minutes ago", "in 2 hours"."""

from __future__ import annotations

from typing import Final

from postroom.domain.time import SECOND_US

_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_JUST_NOW_SECONDS: Final = 2


def duration(seconds: float) -> str:
    """One unit, rounded down, as people do: 119 seconds are "1 minute", 2 days and 7 hours are "2 days"."""
    whole = int(max(seconds, 0))
    for size, name in _UNITS:
        if whole >= size:
            many = whole // size
            return f"{many} {name}" if many == 1 else f"{many} {name}s"
    return "less than a second"


def relative(moment_us: int, now_us: int) -> str:
    """Seen from now; two clocks that differ a little do not make a thing future."""
    seconds = (now_us - moment_us) / SECOND_US
    if abs(seconds) < _JUST_NOW_SECONDS:
        return "just now"
    return f"{duration(seconds)} ago" if seconds > 0 else f"in {duration(-seconds)}"
