"""Quiet hours of one daily window, reckoned by hand with datetimes: what the engine has to agree with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from postroom.kernel.values.zones import instant, known_zone

# A civil day may be skipped whole, so the window around `now` may have begun two dates ago.
_DAYS_AROUND: Final = (-2, -1, 0, 1)
_MOST_WINDOWS: Final = 8


@dataclass(frozen=True, slots=True)
class QuietHours:
    """
    Half-open on the wall clock: quiet at `start`, no longer at `end`.

    A start after the end means the window runs over midnight; equal ones mean
    it never begins.
    """

    start: time
    end: time
    zone: str

    def until(self, now: datetime) -> datetime | None:
        """The instant at which quiet ends, or None when it is not quiet. Windows that touch are one."""
        if self.start == self.end:
            return None
        zone, moment, ends = known_zone(self.zone), now.astimezone(UTC), None
        for _ in range(_MOST_WINDOWS):
            today = moment.astimezone(zone).date()
            windows = [self._window(today + timedelta(days=offset), zone) for offset in _DAYS_AROUND]
            around = [end for start, end in windows if start <= moment < end]
            if not around:
                return ends
            ends = moment = max(around)
        return ends

    def _window(self, day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
        last = day + timedelta(days=1) if self.start > self.end else day
        return instant(day, self.start, zone, last=False), instant(last, self.end, zone, last=True)
