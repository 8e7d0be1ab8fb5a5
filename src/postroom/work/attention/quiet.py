"""When it is quiet for a person: one function says which stretch comes next, and everything else follows from it."""

from __future__ import annotations

from datetime import date, timedelta
from functools import lru_cache
from typing import Final

from postroom.domain.time import to_datetime, to_us
from postroom.domain.wall_clock import instant, known_zone
from postroom.work.attention.policy import DAYS, QuietWindow

Windows = tuple[QuietWindow, ...]
# A civil day may be skipped whole, so what is quiet now may have begun two dates ago; a weekday comes within nine.
_AROUND: Final = range(-2, 10)
_MOST_STRETCHES: Final = 1000


def stretch(windows: Windows, zone: str, now_us: int) -> tuple[int, int] | None:
    """The stretch of quiet at this moment, or else the next one, as [start, end). Windows that touch are one."""
    if not windows:
        return None
    today = to_datetime(now_us).astimezone(known_zone(zone)).date()
    return next(((start, end) for start, end in _stretches(windows, zone, today) if end > now_us), None)


def quiet_until(windows: Windows, zone: str, now_us: int) -> int | None:
    """When quiet ends, or None when it is not quiet."""
    found = stretch(windows, zone, now_us)
    return found[1] if found is not None and found[0] <= now_us else None


def after_open_time(windows: Windows, zone: str, start_us: int, duration_us: int) -> int:
    """The moment at which this much time that is not quiet has passed: the clock stands still while it is quiet."""
    at, left = start_us, duration_us
    for _ in range(_MOST_STRETCHES):
        found = stretch(windows, zone, at)
        if found is None or found[0] - at >= left > 0 or (left == 0 and found[0] > at):
            break
        left -= max(found[0] - at, 0)
        at = found[1]
    return at + left


@lru_cache(maxsize=4096)
def _stretches(windows: Windows, zone: str, today: date) -> tuple[tuple[int, int], ...]:
    days = [today + timedelta(days=offset) for offset in _AROUND]
    found = sorted(span for window in windows for day in days if (span := _span(window, zone, day)) is not None)
    merged: list[tuple[int, int]] = []
    for start, end in found:
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(merged)


@lru_cache(maxsize=16384)
def _span(window: QuietWindow, zone_name: str, day: date) -> tuple[int, int] | None:
    """Nothing when it does not begin on this day, or when the clock jumps over all of it."""
    if window.start == window.end or (window.days is not None and DAYS[day.weekday()] not in window.days):
        return None
    zone = known_zone(zone_name)
    last = day + timedelta(days=1) if window.start > window.end else day
    start, end = instant(day, window.start, zone, last=False), instant(last, window.end, zone, last=True)
    return (to_us(start), to_us(end)) if start < end else None
