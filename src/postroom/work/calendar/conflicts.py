"""Which events stand in the way, and when there would be room."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final

from postroom.work.calendar.event import CalendarEvent
from postroom.work.calendar.span import Span

MOST_SLOTS: Final = 3
_QUARTER: Final = timedelta(minutes=15)
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Daytime:
    """Hours of the day, in the zone of whatever is being moved."""

    earliest_hour: int = 8
    latest_hour: int = 20

    def holds(self, span: Span) -> bool:
        return self._opening(span) <= span.start and span.end <= self._closing(span)

    def next_opening(self, span: Span) -> datetime:
        """The first moment after the span's start at which a day begins."""
        opening = self._opening(span)
        if opening > span.start:
            return opening
        tomorrow = span.start.astimezone(span.zone).date() + _DAY
        return datetime.combine(tomorrow, time(self.earliest_hour), tzinfo=span.zone).astimezone(UTC)

    def _opening(self, span: Span) -> datetime:
        day = span.start.astimezone(span.zone).date()
        return datetime.combine(day, time(self.earliest_hour), tzinfo=span.zone).astimezone(UTC)

    def _closing(self, span: Span) -> datetime:
        day = span.start.astimezone(span.zone).date() + timedelta(days=self.latest_hour // 24)
        return datetime.combine(day, time(self.latest_hour % 24), tzinfo=span.zone).astimezone(UTC)


def in_the_way(wanted: Span, events: Iterable[CalendarEvent], *, ignoring: str | None = None) -> list[CalendarEvent]:
    found = [one for one in events if one.busy and one.id != ignoring and one.span.overlaps(wanted)]
    return sorted(found, key=lambda event: (event.span.start, event.id))


def free_slots(wanted: Span, taken: Sequence[Span], *, until: datetime, daytime: Daytime) -> list[Span]:
    """Up to three spans as long as the wanted one, after it began and over before `until`."""
    bounded = not wanted.all_day and daytime.holds(wanted)
    slots: list[Span] = []
    here = wanted
    while len(slots) < MOST_SLOTS and here.end <= until:
        blocking = [span.end for span in taken if span.overlaps(here)]
        if bounded and not daytime.holds(here):
            following = daytime.next_opening(here)
        elif blocking:
            following = _after(max(blocking), here)
        else:
            slots.append(here)
            following = _after(here.end, here)
        here = here.moved_to(following)
    return slots


def _after(moment: datetime, span: Span) -> datetime:
    """The next quarter of an hour, or the next midnight for whole days."""
    if not span.all_day:
        past = (moment - datetime.min.replace(tzinfo=UTC)) % _QUARTER
        return moment + (_QUARTER - past if past else timedelta())
    day = moment.astimezone(span.zone)
    first = day.date() if day.time() == time() else day.date() + _DAY
    return datetime.combine(first, time(), tzinfo=span.zone).astimezone(UTC)
