"""When something takes place: from one moment to another, or whole days."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from postroom.domain.errors import FieldError, ValidationError

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_YEARS: Final = range(1900, 9000)  # in any zone, and with some days to look ahead, still a year


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Half-open. A span of whole days runs from midnight to midnight in its zone."""

    start: datetime
    end: datetime
    zone: ZoneInfo
    all_day: bool = False

    def overlaps(self, other: Span) -> bool:
        return self.start < other.end and other.start < self.end

    def moved_to(self, start: datetime) -> Span:
        """The same length elsewhere; whole days stay whole when a clock is changed between them."""
        if not self.all_day:
            return Span(start=start, end=start + (self.end - self.start), zone=self.zone)
        days = (self.end.astimezone(self.zone).date() - self.start.astimezone(self.zone).date()).days
        first = start.astimezone(self.zone).date()
        return whole_days(first, first + timedelta(days=days), self.zone)

    def document(self) -> dict[str, dict[str, str]]:
        """As Google writes it, the end of whole days being the day after."""
        return {"start": self._moment(self.start), "end": self._moment(self.end)}

    def change(self) -> dict[str, dict[str, str | None]]:
        """For an event that has times: what is not named would stay, and an event has a date or a time, not both."""
        other: dict[str, str | None] = {"dateTime": None, "timeZone": None} if self.all_day else {"date": None}
        return {name: {**other, **moment} for name, moment in self.document().items()}

    def shown(self) -> dict[str, Any]:
        start, end = (one.astimezone(self.zone) for one in (self.start, self.end))
        if self.all_day:
            return {"start": start.date().isoformat(), "end": end.date().isoformat(), "all_day": True}
        return {"start": start.isoformat(), "end": end.isoformat(), "all_day": False, "timezone": self.zone.key}

    def _moment(self, moment: datetime) -> dict[str, str]:
        local = moment.astimezone(self.zone)
        if self.all_day:
            return {"date": local.date().isoformat()}
        return {"dateTime": local.isoformat(), "timeZone": self.zone.key}


def whole_days(first: date, end: date, zone: ZoneInfo) -> Span:
    midnights = (datetime.combine(day, time(), tzinfo=zone).astimezone(UTC) for day in (first, end))
    start, stop = midnights
    return Span(start=start, end=stop, zone=zone, all_day=True)


def parse_span(start: str, end: str, zone: ZoneInfo) -> Span:
    """Two dates, or two times with or without an offset. Raises ValidationError."""
    days = [bool(_DATE.fullmatch(text.strip())) for text in (start, end)]
    if days[0] != days[1]:
        raise _wrong("end", "must be a date like start, or both must be times")
    if days[0]:
        span = whole_days(_date("start", start), _date("end", end), zone)
    else:
        span = Span(start=parse_moment("start", start, zone), end=parse_moment("end", end, zone), zone=zone)
    if span.end <= span.start:
        raise _wrong("end", "must be after start; whole days end on the day after the last")
    return span


def parse_moment(field: str, text: str, zone: ZoneInfo) -> datetime:
    """A time without an offset is in the zone; one that the clock skips is refused, of two the first is meant."""
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.year not in _YEARS:
            raise ValueError("no calendar goes so far")
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
        instant = moment.replace(tzinfo=zone).astimezone(UTC)
        exists = instant.astimezone(zone).replace(tzinfo=None) == moment
    except (ValueError, OverflowError):
        raise _wrong(field, "must be a date (2026-05-01) or a time (2026-05-01T10:00)") from None
    if not exists:
        raise _wrong(field, f"does not exist in {zone.key}: the clock is put forward over it")
    return instant


def read_span(event: Mapping[str, Any], zone: ZoneInfo) -> Span | None:
    """From Google's event; None when it has no times we understand."""
    ends = [event.get(name) for name in ("start", "end")]
    start, end = (one if isinstance(one, Mapping) else {} for one in ends)
    try:
        if "date" in start and "date" in end:
            return whole_days(date.fromisoformat(start["date"]), date.fromisoformat(end["date"]), zone)
        return Span(start=_instant(start), end=_instant(end), zone=zone)
    except (KeyError, ValueError, TypeError, OverflowError, OSError):
        return None


def _instant(moment: Mapping[str, Any]) -> datetime:
    instant = datetime.fromisoformat(moment["dateTime"])
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=ZoneInfo(moment["timeZone"]))
    return instant.astimezone(UTC)


def _date(field: str, text: str) -> date:
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        day = date.min
    if day.year not in _YEARS:
        raise _wrong(field, "is not a day of the calendar")
    return day


def _wrong(field: str, error: str) -> ValidationError:
    return ValidationError.of([FieldError(field, error, "invalid_time")])
