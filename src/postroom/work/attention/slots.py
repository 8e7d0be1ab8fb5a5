"""The times of day at which what may wait is shown together."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, time, timedelta
from functools import lru_cache
from typing import Final

from postroom.domain.time import to_datetime, to_us
from postroom.domain.wall_clock import instant, known_zone
from postroom.work.attention.quiet import Windows, quiet_until

_AROUND: Final = range(-2, 12)


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
    days = [today + timedelta(days=offset) for offset in _AROUND]
    found = ((to_us(instant(day, at, zone, last=False)), f"{day}/{at:%H:%M}") for day in days for at in slots)
    return tuple(sorted((quiet_until(windows, zone_name, at) or at, name) for at, name in found))
