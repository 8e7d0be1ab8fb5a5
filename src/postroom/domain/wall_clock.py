"""What the wall clock of a place shows, as moments in UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from postroom.domain.time import to_datetime
from postroom.domain.zone import is_zone

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
