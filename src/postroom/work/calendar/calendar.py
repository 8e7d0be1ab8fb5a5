"""What can be done with a calendar: reading fails open, writing fails closed."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from postroom.domain.calendar import CalendarSource, ConflictPolicy, EventChanged, EventExists
from postroom.domain.clock import Clock
from postroom.domain.error_shapes import error_object
from postroom.domain.errors import InternalError, PostroomError, ValidationError
from postroom.domain.time import to_datetime
from postroom.work.calendar.conflicts import Daytime, free_slots, in_the_way
from postroom.work.calendar.event import CalendarEvent, read_event
from postroom.work.calendar.span import Span, parse_moment, parse_span

LOOK_AHEAD: Final = timedelta(days=7)
LOOK_AHEAD_ALL_DAY: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEvents:
    """`error` says why there may be more than these."""

    events: list[CalendarEvent]
    error: PostroomError | None = None


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
    The answers of the tools.

    Between looking for conflicts and writing, somebody else may take the time:
    Google has no way to do both at once.
    """

    def __init__(self, source: CalendarSource, policy: ConflictPolicy, daytime: Daytime, clock: Clock) -> None:
        self._source = source
        self._policy = policy
        self._daytime = daytime
        self._clock = clock

    async def list_events(self, start: str | None, end: str | None, zone: ZoneInfo, limit: int) -> dict[str, Any]:
        begin = parse_moment("start", start, zone) if start else to_datetime(self._clock.now_us())
        until = parse_moment("end", end, zone) if end else begin + LOOK_AHEAD
        found = await self._between(begin, until, zone, limit)
        return _reading({"events": [event.shown() for event in found.events]}, found.error)

    async def get_event(self, event_id: str, zone: ZoneInfo) -> dict[str, Any]:
        try:
            event = self._understood(await self._source.get(event_id), zone)
        except ValidationError:
            raise
        except PostroomError as error:
            return _reading({"event": None}, error)
        return _reading({"event": event.shown()}, None)

    async def find_conflicts(self, span: Span, ignoring: str | None) -> dict[str, Any]:
        until = span.end + (LOOK_AHEAD_ALL_DAY if span.all_day else LOOK_AHEAD)
        found = await self._between(span.start, until, span.zone)
        clashes = in_the_way(span, found.events, ignoring=ignoring)
        slots = self._slots(span, found.events, ignoring, until) if clashes and found.error is None else []
        body = {
            "conflicts": [event.in_brief() for event in clashes],
            "suggested_slots": [slot.shown() for slot in slots],
        }
        return _reading(body, found.error)

    async def create_event(self, span: Span, texts: Mapping[str, str], idempotency_key: str | None) -> dict[str, Any]:
        """The same key creates the same event, once."""
        clash = await self._clash(span, ignoring=_event_id(idempotency_key) if idempotency_key else None)
        if clash and self._policy is not ConflictPolicy.ALLOW_OVERLAP:
            return clash
        body = {"id": _event_id(idempotency_key), **texts, **span.document()}
        try:
            document = await self._source.insert(body)
        except EventExists:
            document = await self._source.get(str(body["id"]))
        written = _written("created", self._understood(document, span.zone))
        return written | ({"conflicts": clash["conflicts"]} if clash else {})

    async def update_event(self, change: EventEdit) -> dict[str, Any]:
        """With the caller's etag only the version it has seen is changed; without, the newest, tried twice."""
        try:
            return await self._update(change)
        except EventChanged:
            if change.etag is not None:
                raise
        return await self._update(change)

    async def delete_event(self, event_id: str, etag: str | None) -> dict[str, Any]:
        await self._source.delete(event_id, etag)
        return {"status": "ok", "deleted": event_id}

    async def _update(self, change: EventEdit) -> dict[str, Any]:
        event = self._understood(await self._source.get(change.event_id), change.zone)
        span = _moved(event.span, change)
        clash = await self._clash(span, ignoring=change.event_id) if span != event.span and event.busy else None
        if clash and self._policy is not ConflictPolicy.ALLOW_OVERLAP:
            return clash
        body = {**change.texts, **(span.change() if span != event.span else {})}
        document = await self._source.patch(change.event_id, body, change.etag or event.etag)
        written = _written("updated", self._understood(document, change.zone))
        return written | ({"conflicts": clash["conflicts"]} if clash else {})

    async def _clash(self, span: Span, *, ignoring: str | None) -> dict[str, Any] | None:
        """None when nothing is in the way; raises when that cannot be known."""
        until = span.end + (LOOK_AHEAD_ALL_DAY if span.all_day else LOOK_AHEAD)
        found = await self._between(span.start, until, span.zone)
        if found.error is not None:
            raise found.error
        clashes = in_the_way(span, found.events, ignoring=ignoring)
        if not clashes:
            return None
        answer: dict[str, Any] = {
            "status": "conflict",
            "policy": str(self._policy),
            "conflicts": [event.in_brief() for event in clashes],
        }
        if self._policy is ConflictPolicy.SUGGEST:
            answer["suggested_slots"] = [slot.shown() for slot in self._slots(span, found.events, ignoring, until)]
        return answer

    def _slots(self, span: Span, events: list[CalendarEvent], ignoring: str | None, until: datetime) -> list[Span]:
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


def _reading(body: dict[str, Any], error: PostroomError | None) -> dict[str, Any]:
    """An answer that is missing something says so; nothing is ever shown as empty that is only unknown."""
    if error is None:
        return {"status": "ok", "complete": True, **body}
    note = f"The calendar could not be read completely: {error.message}. Do not take this for an empty calendar."
    return {"status": "ok", "complete": False, "note": note, "error": error_object(error), **body}


def _written(what: str, event: CalendarEvent) -> dict[str, Any]:
    return {"status": "ok", "action": what, "event": event.shown()}


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
    return span.moved_to(parse_moment("start", start or "", zone))
