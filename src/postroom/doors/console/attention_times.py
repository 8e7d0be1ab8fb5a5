"""Moments as a person chooses them on the pages of attention, by the wall clock of their zone."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Final

from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.time import to_datetime, to_us
from postroom.domain.wall_clock import instant, known_zone
from postroom.work.inbox.snooze import Wish, snoozed_until

EVENING: Final = time(18)


def later(wish: str, typed: str, zone: str, now_us: int) -> int:
    """`wish`: hour, evening, tomorrow, or until the moment that was typed. Raises ValidationError."""
    if wish == "evening":
        evening = this_evening(zone, now_us)
        if evening is None:
            raise _wrong("until", "must lie in the future")
        return evening
    if wish not in tuple(Wish):
        raise _wrong("until", "must be one of the choices")
    return snoozed_until(Wish(wish), typed, zone, now_us)


def this_evening(zone: str, now_us: int) -> int | None:
    """None when it has begun."""
    evening = _at(_today(zone, now_us), EVENING, zone)
    return evening if evening > now_us else None


def end_of_today(zone: str, now_us: int) -> int:
    return _at(_today(zone, now_us) + timedelta(days=1), time(0), zone)


def typed_moment(field: str, typed: str, zone: str) -> int:
    """Raises ValidationError on the field."""
    try:
        wall = datetime.fromisoformat(typed)
    except ValueError:
        raise _wrong(field, "must be a day and a time") from None
    if wall.tzinfo is not None or not 2000 <= wall.year <= 9000:
        raise _wrong(field, "must be a day and a time")
    return _at(wall.date(), wall.time(), zone)


def _today(zone: str, now_us: int) -> date:
    return to_datetime(now_us).astimezone(known_zone(zone)).date()


def _at(day: date, at: time, zone: str) -> int:
    return to_us(instant(day, at, known_zone(zone), last=False))


def _wrong(field: str, error: str) -> ValidationError:
    return ValidationError.of([FieldError(field, error, "invalid")])
