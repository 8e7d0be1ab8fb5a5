"""Moments by the wall clock of a person: quiet hours, who is on duty, set times, and until when something sleeps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, assert_never

from postroom.attention.model import DAYS, QuietWindow
from postroom.kernel.values.errors import FieldError, ValidationError
from postroom.kernel.values.fields import Fields
from postroom.kernel.values.ids import parse_text, seconds, to_datetime, to_us
from postroom.kernel.values.zones import instant, is_zone, known_zone

# -- Quiet: one function says which stretch comes next, and everything else follows from it --

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


def open_time(windows: Windows, zone: str, start_us: int, end_us: int) -> int:
    """How much of this time is not quiet."""
    at, passed = start_us, 0
    for _ in range(_MOST_STRETCHES):
        found = stretch(windows, zone, at)
        if found is None or found[0] >= end_us:
            break
        passed += max(found[0] - at, 0)
        at = found[1]
    return passed + max(end_us - at, 0)


@lru_cache(maxsize=4096)
def _stretches(windows: Windows, zone: str, today: date) -> tuple[tuple[int, int], ...]:
    days = [today + timedelta(days=offset) for offset in _AROUND]
    return merged_spans(span for window in windows for day in days if (span := _span(window, zone, day)) is not None)


@lru_cache(maxsize=16384)
def _span(window: QuietWindow, zone_name: str, day: date) -> tuple[int, int] | None:
    """Nothing when it does not begin on this day, or when the clock jumps over all of it."""
    if window.start == window.end or (window.days is not None and DAYS[day.weekday()] not in window.days):
        return None
    zone = known_zone(zone_name)
    last = day + timedelta(days=1) if window.start > window.end else day
    start, end = instant(day, window.start, zone, last=False), instant(last, window.end, zone, last=True)
    return (to_us(start), to_us(end)) if start < end else None


# -- Who is on duty: people who take turns from a wall clock time on --

_MOST_DAYS: Final = 366


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """
    `anchor`: the wall clock time of the first handover, such as 2026-01-05T09:00, in `zone`; before it is a gap.

    `overrides`: (from, until, person) in absolute time; the later one wins. No people is a gap, not an error.
    """

    anchor: datetime
    zone: str
    every_days: int
    people: tuple[str, ...]
    overrides: tuple[tuple[int, int, str], ...] = ()


def on_duty(rotation: Rotation, now_us: int) -> str | None:
    for start, end, person in reversed(rotation.overrides):
        if start <= now_us < end:
            return person
    turn = _turn(rotation, now_us)
    return rotation.people[turn % len(rotation.people)] if rotation.people and turn >= 0 else None


def _turn(rotation: Rotation, now_us: int) -> int:
    """How many handovers there were after the first: by the wall clock, so over a clock change the hour stays."""
    zone = known_zone(rotation.zone)
    day = to_datetime(now_us).astimezone(zone).date() + timedelta(days=1)
    turn = (day - rotation.anchor.date()).days // rotation.every_days
    while turn >= 0 and _handover(rotation, turn) > now_us:
        turn -= 1
    return turn


def _handover(rotation: Rotation, turn: int) -> int:
    day = rotation.anchor.date() + timedelta(days=turn * rotation.every_days)
    return to_us(instant(day, rotation.anchor.time(), known_zone(rotation.zone), last=False))


def parse_rotation(payload: object, *, people: Collection[str] | None = None) -> Rotation:
    """`{anchor, zone, every_days, people, overrides: [{from, until, person}]}`; raises ValidationError."""
    given = Fields(payload, whole="rotation")
    given.refuse_unknown(("anchor", "zone", "every_days", "people", "overrides"))
    zone = given.text("zone", maximum=200)
    if zone and not is_zone(zone):
        given.complain("zone", "is no known time zone, such as Europe/Vienna", "unknown_zone")
    every = given.raw("every_days")
    if isinstance(every, bool) or not isinstance(every, int) or not 1 <= every <= _MOST_DAYS:
        given.complain("every_days", f"must be a whole number from 1 to {_MOST_DAYS}", "out_of_range")
    rotation = Rotation(
        anchor=_anchor(given),
        zone=zone,
        every_days=every if isinstance(every, int) else 1,
        people=tuple(_person(given, f"people.{n}", one, people) for n, one in enumerate(_listed(given, "people"))),
        overrides=tuple(
            _override(given, f"overrides.{n}", o, people) for n, o in enumerate(_listed(given, "overrides"))
        ),
    )
    given.finish()
    return rotation


def _anchor(given: Fields) -> datetime:
    try:
        anchor = datetime.fromisoformat(given.text("anchor", maximum=40) or "2000-01-01")
    except ValueError:
        anchor = None
    if anchor is None or anchor.tzinfo is not None:
        given.complain("anchor", "must be a day and a time such as 2026-01-05T09:00", "invalid")
        return datetime(2000, 1, 1)
    return anchor


def _listed(given: Fields, name: str) -> list[Any]:
    value = given.raw(name)
    if value is None or isinstance(value, list):
        return value or []
    given.complain(name, "must be a list", "list_required")
    return []


def _person(given: Fields, path: str, value: Any, people: Collection[str] | None) -> str:
    if not isinstance(value, str) or (people is not None and value not in people):
        given.complaints.append(FieldError(path, "is no person that is known here", "unknown_person"))
        return ""
    return value


def _override(given: Fields, path: str, value: Any, people: Collection[str] | None) -> tuple[int, int, str]:
    inner = Fields(value, path, given.complaints)
    inner.refuse_unknown(("from", "until", "person"))
    start, end = (moment(inner, name) for name in ("from", "until"))
    if start >= end:
        inner.complain("until", "must lie after from", "invalid")
    return start, end, _person(given, inner.path("person"), inner.raw("person"), people)


def moment(given: Fields, name: str) -> int:
    """A time with an offset; 0 when it is none, which is then on the list."""
    try:
        return parse_text(given.text(name, maximum=40) or "1970-01-01T00:00:00Z")
    except ValueError:
        given.complain(name, "must be a time with an offset, such as 2026-01-05T09:00:00Z", "invalid")
        return 0


# -- Set times: what may wait is shown together then --

_SLOTS_AROUND: Final = range(-2, 12)


def next_slot(
    slots: tuple[time, ...], windows: Windows, zone: str, after_us: int, used: Mapping[str, int]
) -> int | None:
    """
    The first slot after this moment, moved out of quiet hours to their end.

    A slot that was used at another moment does not come again, also when the person travelled west since.
    """
    if not slots:
        return None
    today = to_datetime(after_us).astimezone(known_zone(zone)).date()
    every = _slots(slots, windows, zone, today)
    return next((at for at, name in every if at > after_us and used.get(name, at) == at), None)


def slots_at(slots: tuple[time, ...], windows: Windows, zone: str, at_us: int) -> tuple[str, ...]:
    """Their ids: local date and name. More than one when quiet hours moved them to the same moment."""
    today = to_datetime(at_us).astimezone(known_zone(zone)).date()
    return tuple(name for at, name in _slots(slots, windows, zone, today) if at == at_us)


@lru_cache(maxsize=4096)
def _slots(slots: tuple[time, ...], windows: Windows, zone_name: str, today: date) -> tuple[tuple[int, str], ...]:
    zone = known_zone(zone_name)
    days = [today + timedelta(days=offset) for offset in _SLOTS_AROUND]
    found = ((to_us(instant(day, at, zone, last=False)), f"{day}/{at:%H:%M}") for day in days for at in slots)
    return tuple(sorted((quiet_until(windows, zone_name, at) or at, name) for at, name in found))


# -- Until when a note sleeps, said the way people say it --

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
            until_us = typed_moment("until", typed, zone_name)
            if until_us <= now_us:
                raise _refused("until", "must lie in the future")
            return until_us
        case _:
            assert_never(wish)


def typed_moment(field: str, typed: str, zone: str) -> int:
    """A wall clock time such as 2026-01-05T09:00 in this zone; raises ValidationError on the field."""
    try:
        wall = datetime.fromisoformat(typed)
    except ValueError:
        raise _refused(field, "must be a day and a time") from None
    if wall.tzinfo is not None or not 2000 <= wall.year <= 9000:
        raise _refused(field, "must be a day and a time")
    return to_us(instant(wall.date(), wall.time(), known_zone(zone), last=False))


def _refused(field: str, sentence: str) -> ValidationError:
    return ValidationError.of([FieldError(field, sentence, "invalid")])


def merged_spans(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """In order; those that touch are one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(merged)
