"""Until when a notification sleeps, said the way people say it."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from typing import Final, assert_never

from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.time import seconds, to_datetime, to_us
from postroom.domain.wall_clock import instant, known_zone

MORNING: Final = time(9)
_HOUR_SECONDS: Final = 3600.0


class Wish(StrEnum):
    HOUR = "hour"
    TOMORROW = "tomorrow"
    NEXT_WEEK = "next_week"
    UNTIL = "until"


def snoozed_until(wish: Wish, typed: str, zone_name: str, now_us: int) -> int:
    """
    `typed` is a wall clock time such as 2026-01-05T09:00 in the person's own zone, and counts for UNTIL alone.

    Raises ValidationError when it is no time, or a time that has passed.
    """
    zone = known_zone(zone_name)
    today = to_datetime(now_us).astimezone(zone).date()
    match wish:
        case Wish.HOUR:
            return now_us + seconds(_HOUR_SECONDS)
        case Wish.TOMORROW:
            return to_us(instant(today + timedelta(days=1), MORNING, zone, last=False))
        case Wish.NEXT_WEEK:
            return to_us(instant(today + timedelta(days=7 - today.weekday()), MORNING, zone, last=False))
        case Wish.UNTIL:
            wall = _wall_clock(typed)
            until_us = to_us(instant(wall.date(), wall.time(), zone, last=False).astimezone(UTC))
            if until_us <= now_us:
                raise _refused("must lie in the future")
            return until_us
        case _:
            assert_never(wish)


def _wall_clock(typed: str) -> datetime:
    try:
        wall = datetime.fromisoformat(typed)
    except ValueError:
        raise _refused("must be a day and a time") from None
    if wall.tzinfo is not None or not 2000 <= wall.year <= 9000:
        raise _refused("must be a day and a time")
    return wall


def _refused(sentence: str) -> ValidationError:
    return ValidationError.of([FieldError("until", sentence, "invalid")])
