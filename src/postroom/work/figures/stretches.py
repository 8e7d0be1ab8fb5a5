"""The stretches of a span: hours or whole days of a zone, the last one being the one we are in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from postroom.domain.span_figures import FigureSpan
from postroom.domain.time import seconds, to_datetime, to_us

_HOURS: Final = 24
_DAYS: Final = {FigureSpan.WEEK: 7, FigureSpan.MONTH: 30}


def edges(now_us: int, span: FigureSpan, zone: str) -> tuple[int, ...]:
    """One more than there are stretches; a day may have 23 or 25 hours."""
    here = to_datetime(now_us).astimezone(ZoneInfo(zone))
    return _hours(now_us, here) if span is FigureSpan.DAY else _days(here, _DAYS[span])


def stretch_name(since_us: int, span: FigureSpan, zone: str) -> str:
    """As it stands under a bar: 14:00, Tue 3, 3 Nov."""
    here = to_datetime(since_us).astimezone(ZoneInfo(zone))
    form = {FigureSpan.DAY: "%H:%M", FigureSpan.WEEK: "%a %-d", FigureSpan.MONTH: "%-d %b"}[span]
    return here.strftime(form)


def spoken_stretch(since_us: int, span: FigureSpan, zone: str) -> str:
    """As it stands in a sentence: at 14:00, on Tuesday, on 3 Nov."""
    here = to_datetime(since_us).astimezone(ZoneInfo(zone))
    form = {FigureSpan.DAY: "at %H:%M", FigureSpan.WEEK: "on %A", FigureSpan.MONTH: "on %-d %b"}[span]
    return here.strftime(form)


def _hours(now_us: int, here: datetime) -> tuple[int, ...]:
    """
    Exactly 24 hours back, so that the sums are those of every other "last 24 hours"; the first is a part of an hour.

    Counted in real hours: when the clock is set back, one of them stands twice.
    """
    past = timedelta(minutes=here.minute, seconds=here.second, microseconds=here.microsecond)
    hour_us, began_us = seconds(3600.0), to_us(here.astimezone(UTC) - past)
    whole = [began_us - hour_us * (_HOURS - 1 - place) for place in range(_HOURS + 1)]
    return (now_us - _HOURS * hour_us, *whole)


def _days(here: datetime, many: int) -> tuple[int, ...]:
    tomorrow = here.date() + timedelta(days=1)
    begins = [tomorrow - timedelta(days=many - place) for place in range(many + 1)]
    return tuple(to_us(datetime(one.year, one.month, one.day, tzinfo=here.tzinfo).astimezone(UTC)) for one in begins)
