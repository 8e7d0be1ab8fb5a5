"""A calendar as a butler uses it: moments and spans, events, what stands in their way, and what can be done."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo

from typing_extensions import TypedDict

from postroom.butlers.calendar.google import EventChanged, EventExists, GoogleCalendar
from postroom.kernel.http.answers import JsonObject
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import (
    FieldError,
    InternalError,
    PostroomError,
    ValidationError,
)
from postroom.kernel.values.ids import to_datetime

# When something takes place: from one moment to another, or whole days.


class ShownSpan(TypedDict, total=False):
    """`timezone` is of times; whole days have none."""

    start: str
    end: str
    all_day: bool
    timezone: str


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

    def shown(self) -> ShownSpan:
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
        span = Span(start=_parse_moment("start", start, zone), end=_parse_moment("end", end, zone), zone=zone)
    if span.end <= span.start:
        raise _wrong("end", "must be after start; whole days end on the day after the last")
    return span


def time_zone(name: str | None, own: ZoneInfo) -> ZoneInfo:
    """Raises ValidationError."""
    if name is None:
        return own
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        error = FieldError("timezone", "is not the name of a time zone, such as Europe/Paris", "unknown_timezone")
        raise ValidationError.of([error]) from None


def _parse_moment(field: str, text: str, zone: ZoneInfo) -> datetime:
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


def read_span(event: JsonObject, zone: ZoneInfo) -> Span | None:
    """From Google's event; None when it has no times we understand."""
    ends = [event.get(name) for name in ("start", "end")]
    start, end = (one if isinstance(one, Mapping) else {} for one in ends)
    try:
        if "date" in start and "date" in end:
            return whole_days(date.fromisoformat(start["date"]), date.fromisoformat(end["date"]), zone)
        return Span(start=_instant(start), end=_instant(end), zone=zone)
    except (KeyError, ValueError, TypeError, OverflowError, OSError):
        return None


def _instant(moment: JsonObject) -> datetime:
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


# An event as we understand it, out of whatever Google sends.

_MOST_CHARACTERS: Final = 2_000


class ShownEvent(ShownSpan, total=False):
    """In brief it has an id, a title and its times; what is empty is not there."""

    event_id: str
    title: str
    busy: bool
    etag: str
    location: str
    description: str
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarEvent:
    """`busy` is False for events that take up no time: free, cancelled, or declined by the owner."""

    id: str
    etag: str
    span: Span
    busy: bool
    title: str = field(repr=False)
    location: str = field(default="", repr=False)
    description: str = field(default="", repr=False)
    link: str = field(default="", repr=False)

    def shown(self) -> ShownEvent:
        shown = event_in_brief(self)
        shown["busy"], shown["etag"] = self.busy, self.etag
        if self.location:
            shown["location"] = self.location
        if self.description:
            shown["description"] = self.description
        if self.link:
            shown["link"] = self.link
        return shown


def event_in_brief(event: CalendarEvent) -> ShownEvent:
    shown: ShownEvent = {"event_id": event.id, "title": event.title}
    shown.update(event.span.shown())  # type: ignore[typeddict-item]  # which are among its own
    return shown


def read_event(document: object, zone: ZoneInfo) -> CalendarEvent | None:
    """None for a cancelled stub or anything else that is no event."""
    if not isinstance(document, Mapping) or not isinstance(document.get("id"), str):
        return None
    span = read_span(document, zone)
    if span is None:
        return None
    return CalendarEvent(
        id=document["id"],
        etag=_text(document, "etag"),
        span=span,
        busy=_is_busy(document),
        title=_text(document, "summary"),
        location=_text(document, "location"),
        description=_text(document, "description"),
        link=_text(document, "htmlLink"),
    )


def _is_busy(document: JsonObject) -> bool:
    if document.get("status") == "cancelled" or document.get("transparency") == "transparent":
        return False
    attendees = document.get("attendees")
    guests = [one for one in attendees if isinstance(one, Mapping)] if isinstance(attendees, list) else []
    return not any(one.get("self") and one.get("responseStatus") == "declined" for one in guests)


def _text(document: JsonObject, name: str) -> str:
    value = document.get(name)
    return value[:_MOST_CHARACTERS] if isinstance(value, str) else ""


# Which events stand in the way, and when there would be room.

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


# What happens when a time is taken.


class ConflictPolicy(StrEnum):
    SUGGEST = "suggest"  # create nothing, propose free times
    FAIL = "fail"  # create nothing
    ALLOW_OVERLAP = "allow_overlap"


# What can be done with it: reading fails open, writing fails closed.

_LOOK_AHEAD: Final = timedelta(days=7)
_LOOK_AHEAD_ALL_DAY: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEvents:
    """`error` says why there may be more than these."""

    events: Sequence[CalendarEvent] = ()
    error: PostroomError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeTimes:
    """What stands in the way of a time, and what is free instead, if anybody wants to know."""

    policy: ConflictPolicy
    conflicts: Sequence[CalendarEvent]
    slots: Sequence[Span] | None
    error: PostroomError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenEvent:
    """`conflicts` are those at the same time, where the household lets events overlap."""

    event: CalendarEvent
    conflicts: Sequence[CalendarEvent] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventEdit:
    """What is to become of an event; what is None or missing stays as it is."""

    event_id: str
    start: str | None
    end: str | None
    zone: ZoneInfo
    texts: Mapping[str, str]
    etag: str | None


class Calendar:
    """
    Between looking for conflicts and writing, somebody else may take the time: Google has no way to do both at once.
    """

    def __init__(self, source: GoogleCalendar, policy: ConflictPolicy, daytime: Daytime, clock: Clock) -> None:
        self._source = source
        self._policy = policy
        self._daytime = daytime
        self._clock = clock

    async def list_events(self, start: str | None, end: str | None, zone: ZoneInfo, limit: int) -> FoundEvents:
        begin = _parse_moment("start", start, zone) if start else to_datetime(self._clock.now_us())
        until = _parse_moment("end", end, zone) if end else begin + _LOOK_AHEAD
        return await self._between(begin, until, zone, limit)

    async def get_event(self, event_id: str, zone: ZoneInfo) -> FoundEvents:
        try:
            return FoundEvents(events=[self._understood(await self._source.get(event_id), zone)])
        except ValidationError:
            raise
        except PostroomError as error:
            return FoundEvents(error=error)

    async def find_conflicts(self, span: Span, ignoring: str | None) -> FreeTimes:
        until = span.end + (_LOOK_AHEAD_ALL_DAY if span.all_day else _LOOK_AHEAD)
        found = await self._between(span.start, until, span.zone)
        clashes = in_the_way(span, found.events, ignoring=ignoring)
        slots = self._slots(span, found.events, ignoring, until) if clashes and found.error is None else []
        return FreeTimes(policy=self._policy, conflicts=clashes, slots=slots, error=found.error)

    async def create_event(
        self, span: Span, texts: Mapping[str, str], idempotency_key: str | None
    ) -> WrittenEvent | FreeTimes:
        """The same key creates the same event, once."""
        clash = await self._clash(span, ignoring=_event_id(idempotency_key) if idempotency_key else None)
        if clash.conflicts and self._policy is not ConflictPolicy.ALLOW_OVERLAP:
            return clash
        body = {"id": _event_id(idempotency_key), **texts, **span.document()}
        try:
            document = await self._source.insert(body)
        except EventExists:
            document = await self._source.get(str(body["id"]))
        return WrittenEvent(event=self._understood(document, span.zone), conflicts=clash.conflicts)

    async def update_event(self, change: EventEdit) -> WrittenEvent | FreeTimes:
        """With the caller's etag only the version it has seen is changed; without, the newest, tried twice."""
        try:
            return await self._update(change)
        except EventChanged:
            if change.etag is not None:
                raise
        return await self._update(change)

    async def delete_event(self, event_id: str, etag: str | None) -> None:
        await self._source.delete(event_id, etag)

    async def _update(self, change: EventEdit) -> WrittenEvent | FreeTimes:
        event = self._understood(await self._source.get(change.event_id), change.zone)
        span = _moved(event.span, change)
        clash = await self._clash(span, ignoring=change.event_id) if span != event.span and event.busy else None
        if clash and clash.conflicts and self._policy is not ConflictPolicy.ALLOW_OVERLAP:
            return clash
        body = {**change.texts, **(span.change() if span != event.span else {})}
        document = await self._source.patch(change.event_id, body, change.etag or event.etag)
        return WrittenEvent(event=self._understood(document, change.zone), conflicts=clash.conflicts if clash else ())

    async def _clash(self, span: Span, *, ignoring: str | None) -> FreeTimes:
        """Raises when it cannot be known what is in the way."""
        found = await self.find_conflicts(span, ignoring)
        if found.error is not None:
            raise found.error
        return found if self._policy is ConflictPolicy.SUGGEST else replace(found, slots=None)

    def _slots(self, span: Span, events: Sequence[CalendarEvent], ignoring: str | None, until: datetime) -> list[Span]:
        taken = [event.span for event in events if event.busy and event.id != ignoring]
        return free_slots(span, taken, until=until, daytime=self._daytime)

    async def _between(self, start: datetime, end: datetime, zone: ZoneInfo, limit: int | None = None) -> FoundEvents:
        """What was found before an error is worth having too."""
        events: list[CalendarEvent] = []
        try:
            async for page in self._source.pages(start, end):
                events += [event for one in page if (event := read_event(one, zone))]
                if limit is not None and len(events) >= limit:
                    return FoundEvents(events=events[:limit])
        except PostroomError as error:
            return FoundEvents(events=events, error=error)
        return FoundEvents(events=events)

    def _understood(self, document: object, zone: ZoneInfo) -> CalendarEvent:
        event = read_event(document, zone)
        if event is None:
            raise InternalError("Google Calendar sent an event without times")
        return event


def _event_id(key: str | None) -> str:
    """Google's ids are base32hex; ours follow from the caller's key, or from nothing at all."""
    digest = hashlib.sha256(key.encode()).digest()[:20] if key else secrets.token_bytes(20)
    return "pr" + base64.b32hexencode(digest).decode().rstrip("=").lower()


def _moved(span: Span, change: EventEdit) -> Span:
    """Only a new start moves the event; only a new end makes it longer or shorter."""
    start, end, zone = change.start, change.end, change.zone
    if start is None and end is None:
        return span
    old = span.shown()
    if end is not None:
        return parse_span(start or old["start"], end, zone)
    whole_day = len((start or "").strip()) == len("2026-01-01")
    if whole_day != span.all_day:
        return parse_span(start or "", old["end"], zone)
    return span.moved_to(_parse_moment("start", start or "", zone))
