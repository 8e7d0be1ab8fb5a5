"""Work that failed keeps its distance: longer each time, so that it never stands in the way of other work."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from postroom.domain.time import seconds

FIRST_PAUSE_SECONDS: Final = 2.0
LONGEST_PAUSE_SECONDS: Final = 60.0
MAX_TRIES: Final = 6  # a minute of failures: longer than a database needs to come back
_MOST_AWAY: Final = 5_000  # as many ids as fit into one question to the database
_FORGET_US: Final = seconds(600.0)


@dataclass(frozen=True, slots=True)
class _Setback:
    failures: int
    until_us: int


@dataclass(frozen=True, slots=True)
class Setbacks:
    """In memory: after a restart everything is tried again, and what still fails has gone again soon."""

    _known: dict[str, _Setback] = field(default_factory=dict)

    def note(self, key: str, now_us: int) -> int:
        """How often it has failed by now; it keeps away until its pause is over."""
        failures = self._known[key].failures + 1 if key in self._known else 1
        self._known[key] = _Setback(failures, now_us + seconds(pause_seconds(failures)))
        return failures

    def clear(self, key: str) -> None:
        self._known.pop(key, None)

    def keeps_away(self, key: str, now_us: int) -> bool:
        return key in self._known and self._known[key].until_us > now_us

    def away(self, now_us: int) -> list[str]:
        """Everything that keeps its distance now; what has not been tried for long is forgotten."""
        for key in [key for key, one in self._known.items() if one.until_us + _FORGET_US < now_us]:
            del self._known[key]
        return [key for key in self._known if self.keeps_away(key, now_us)][:_MOST_AWAY]


def pause_seconds(failures: int) -> float:
    return min(FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 30), LONGEST_PAUSE_SECONDS)
