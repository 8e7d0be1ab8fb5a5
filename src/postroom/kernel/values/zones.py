"""Moments as people say them, on the wall clock of a place."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from postroom.kernel.values.ids import SECOND_US, to_datetime

# The time zones this machine knows, by their IANA names.

_NOT_NAMES: Final = frozenset({"localtime", "posixrules", "Factory"})  # files beside the zones, not places


@cache
def zone_names() -> frozenset[str]:
    return frozenset(available_timezones()) - _NOT_NAMES


def is_zone(name: str) -> bool:
    """By list, because asking for a zone by an arbitrary name opens an arbitrary file."""
    return name in zone_names()


# What the wall clock of a place shows, as moments in UTC.

_SECOND: Final = timedelta(seconds=1)


def known_zone(name: str) -> ZoneInfo:
    """A zone was checked when it was chosen; another machine may know fewer, and a late letter beats none."""
    return ZoneInfo(name if is_zone(name) else "UTC")


def said_moment(at_us: int, zone: str, seen_from_us: int) -> str:
    """As people read it: the hour where they are, with the day when that is another one, and whose hour it is."""
    place = known_zone(zone)
    at, seen = to_datetime(at_us).astimezone(place), to_datetime(seen_from_us).astimezone(place)
    return f"{at:%H:%M} {zone_word(at)}" if at.date() == seen.date() else f"{at:%Y-%m-%d %H:%M} {zone_word(at)}"


def zone_word(at: datetime) -> str:
    """CEST, or UTC+04 where a zone has no word of its own."""
    word = at.tzname() or "UTC"
    return f"UTC{word}" if word[0] in "+-" else word


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


# "3 minutes ago", "in 2 hours".

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
