"""Quiet hours as seven days that can be drawn, and said in words beside the drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import time
from typing import Final

from postroom.work.attention.policy import DAYS, QuietWindow

DAY_MINUTES: Final = 24 * 60
_NAMES: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietDay:
    """`spans` and `slots` in minutes of the day."""

    name: str
    spans: tuple[tuple[int, int], ...]
    slots: tuple[int, ...]

    @property
    def words(self) -> str:
        if self.spans == ((0, DAY_MINUTES),):
            return "quiet all day"
        return ", ".join(f"{_clock(start)}–{_clock(end)}" for start, end in self.spans) or "no quiet hours"


def week(windows: Sequence[QuietWindow], slots: Sequence[time]) -> tuple[QuietDay, ...]:
    """A window over midnight ends on the day after the one it belongs to."""
    drawn = tuple(sorted(_minute(one) for one in slots))
    return tuple(
        QuietDay(name=name, spans=_merged(_spans(windows, place)), slots=drawn) for place, name in enumerate(_NAMES)
    )


def span_words(window: QuietWindow) -> str:
    return f"{window.start.isoformat('minutes')}–{window.end.isoformat('minutes')}"


def _spans(windows: Sequence[QuietWindow], place: int) -> list[tuple[int, int]]:
    found = []
    for window in windows:
        start, end = _minute(window.start), _minute(window.end)
        if start < end and _begins(window, place):
            found.append((start, end))
        if start > end and _begins(window, place):
            found.append((start, DAY_MINUTES))
        if start > end and end > 0 and _begins(window, place - 1):
            found.append((0, end))
    return found


def _begins(window: QuietWindow, place: int) -> bool:
    return window.days is None or DAYS[place % 7] in window.days


def _merged(spans: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(merged)


def _minute(at: time) -> int:
    return at.hour * 60 + at.minute


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"
