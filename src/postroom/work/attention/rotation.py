"""Who is on duty: people who take turns from a wall clock time on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from postroom.domain.errors import FieldError
from postroom.domain.fields import Fields
from postroom.domain.time import parse_text, to_datetime, to_us
from postroom.domain.wall_clock import instant, known_zone
from postroom.domain.zone import is_zone

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
