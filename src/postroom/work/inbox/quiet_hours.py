"""The hours in which a person wants no e-mail, in that person's own time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from postroom.domain.notification import Preferences
from postroom.domain.zone import is_zone

_SECOND: Final = timedelta(seconds=1)
# A civil day may be skipped whole, so the window around `now` may have begun two dates ago.
_DAYS_AROUND: Final = (-2, -1, 0, 1)
_MOST_WINDOWS: Final = 8


def known_zone(name: str) -> ZoneInfo:
    """A zone was checked when it was chosen; another machine may know fewer, and a late letter beats none."""
    return ZoneInfo(name if is_zone(name) else "UTC")


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


def quiet_hours_of(preferences: Preferences) -> QuietHours | None:
    if preferences.quiet_hours_start is None or preferences.quiet_hours_end is None:
        return None
    return QuietHours(preferences.quiet_hours_start, preferences.quiet_hours_end, preferences.quiet_hours_timezone)


def instant(day: date, at: time, zone: ZoneInfo, *, last: bool) -> datetime:
    """
    When the wall clock shows this time, in UTC.

    A time shown twice means its first or its last showing; a time that is never
    shown means the moment the clock jumps over it.
    """
    shown = datetime.combine(day, at)
    first_offset, last_offset = (_offset(shown.replace(tzinfo=zone, fold=fold)) for fold in (0, 1))
    if first_offset >= last_offset:
        return (shown - (last_offset if last else first_offset)).replace(tzinfo=UTC)
    before = (shown - last_offset).replace(microsecond=0, tzinfo=UTC)
    return _jump(before, (shown - first_offset).replace(tzinfo=UTC), zone, first_offset)


def _jump(before: datetime, after: datetime, zone: ZoneInfo, old_offset: timedelta) -> datetime:
    """Offsets change on whole seconds, so halving the gap second by second finds the exact one."""
    while after - before > _SECOND:
        middle = (before + (after - before) / 2).replace(microsecond=0)
        if middle <= before:
            break
        if _offset(middle.astimezone(zone)) == old_offset:
            before = middle
        else:
            after = middle
    return after.replace(microsecond=0)


def _offset(moment: datetime) -> timedelta:
    offset = moment.utcoffset()
    if offset is None:
        raise ValueError("a time zone is required")
    return offset
