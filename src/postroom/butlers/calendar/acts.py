"""What a butler's model does with the calendar; while it cannot be read, reading answers with what is known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from postroom.butlers.calendar.calendar import (
    EventEdit,
    FreeTimes,
    ShownEvent,
    ShownSpan,
    WrittenEvent,
    event_in_brief,
    parse_span,
    time_zone,
)
from postroom.kernel.acts.declaration import Act, Answer, Call, Hints, Tool, act, said
from postroom.kernel.acts.reading import wrong
from postroom.kernel.values.errors import PostroomError, Refused, ValidationError, error_answer, error_object
from postroom.kernel.values.principal import Kind

if TYPE_CHECKING:
    from postroom.butlers.calendar.module import CalendarModule

    InCalendar = Call[CalendarModule]

_ITSELF: Final = frozenset({Kind.ITSELF})
_READS: Final = Hints(reads=True, repeats=True, open_world=True)
_CHANGES: Final = Hints(destroys=True, open_world=True)

# Arguments.

_EVENT_ID: Final = re.compile(r"[A-Za-z0-9_@.-]{1,1024}")
_LINE: Final = re.compile(r"[\x20-\x7e]+")
_WHEN: Final = "2026-05-01T10:00 in the time zone, 2026-05-01T10:00:00+02:00, or 2026-05-01 for whole days"
_END: Final = "Written as start is."
_ZONE: Final = "IANA name such as Europe/Paris; without it the calendar's own"
_SHOWN_ID: Final = "As the lists name it."


def _id(event_id: str) -> str:
    if not _EVENT_ID.fullmatch(event_id):
        raise wrong("is not the id of an event", "invalid_id")
    return event_id


def _one_line(etag: str) -> str:
    """It travels as a header, which is one line."""
    if not _LINE.fullmatch(etag):
        raise wrong("is not the etag of an event", "invalid_etag")
    return etag


EventId = Annotated[str, Field(max_length=1024), AfterValidator(_id)]
When = Annotated[str, Field(max_length=64)]
ZoneName = Annotated[str, Field(max_length=64)]
Title = Annotated[str, Field(max_length=500)]
EventText = Annotated[str, Field(max_length=8_000)]
Etag = Annotated[str, Field(max_length=200), AfterValidator(_one_line)]


# Answers.


class CalendarPage(TypedDict, total=False):
    """When `complete` is false, `note` and `error` say why."""

    status: str
    complete: bool
    note: str
    error: Mapping[str, Any]
    events: list[ShownEvent]


class EventAnswer(TypedDict, total=False):
    status: str
    complete: bool
    note: str
    error: Mapping[str, Any]
    event: ShownEvent | None


class ConflictsAnswer(TypedDict, total=False):
    status: str
    complete: bool
    note: str
    error: Mapping[str, Any]
    conflicts: list[ShownEvent]
    suggested_slots: list[ShownSpan]


class ChangedAnswer(TypedDict, total=False):
    """`ok` with what was done, or `conflict` and nothing was."""

    status: str
    action: str
    event: ShownEvent
    deleted: str
    policy: str
    conflicts: list[ShownEvent]
    suggested_slots: list[ShownSpan]


def _read(error: PostroomError | None, **body: Any) -> Any:
    """An answer that is missing something says so; nothing is ever shown as empty that is only unknown."""
    if error is None:
        return {"status": "ok", "complete": True, **body}
    note = f"The calendar could not be read completely: {error.message}. Do not take this for an empty calendar."
    return {"status": "ok", "complete": False, "note": note, "error": error_object(error), **body}


def _changed(done: str, outcome: WrittenEvent | FreeTimes) -> Any:
    if isinstance(outcome, FreeTimes):
        slots = None if outcome.slots is None else [slot.shown() for slot in outcome.slots]
        conflicts = [event_in_brief(one) for one in outcome.conflicts]
        return {"status": "conflict", "policy": str(outcome.policy), "conflicts": conflicts} | (
            {} if slots is None else {"suggested_slots": slots}
        )
    conflicts = [event_in_brief(one) for one in outcome.conflicts]
    answer = {"status": "ok", "action": done, "event": outcome.event.shown()}
    return answer | ({"conflicts": conflicts} if conflicts else {})


class _ReadsCalendar(Act[Answer]):
    unread: ClassVar[Mapping[str, Any]]
    timezone: ZoneName | None = said(_ZONE)

    @classmethod
    def refused(cls, error: PostroomError) -> Mapping[str, Any]:
        """A wrong argument is an error; a calendar that is not there is an empty answer with a note."""
        if isinstance(error, ValidationError | Refused):
            return error_answer(error)
        return {"status": "ok", "complete": False, "note": error.message, "error": error_object(error), **cls.unread}


class _ChangesCalendar(Act[ChangedAnswer]):
    @classmethod
    def refused(cls, error: PostroomError) -> Mapping[str, Any]:
        return error_answer(error)


class _WritesEvent(_ChangesCalendar):
    timezone: ZoneName | None = said(_ZONE)
    description: EventText | None = said("What it is about.")
    location: EventText | None = said("Where it is.")

    def texts(self, title: str | None) -> dict[str, str]:
        """Under Google's names."""
        texts = {"summary": title, "description": self.description, "location": self.location}
        return {name: text for name, text in texts.items() if text is not None}


# Reading fails open.


@act(by=_ITSELF, tool=Tool("calendar_list_events", _READS))
class ListEvents(_ReadsCalendar[CalendarPage]):
    """
    List what is in the calendar between two moments, in order; by default the next seven days. When `complete` is
    false the calendar could not be read and may hold more than is shown.
    """

    start: When | None = said(_WHEN)
    end: When | None = said(_END)
    limit: Annotated[int, Field(ge=1, le=250)] = said("At most so many.", 50)

    unread = {"events": []}  # noqa: RUF012

    async def do(self, call: InCalendar) -> Any:
        zone = time_zone(self.timezone, call.work.zone)
        found = await call.work.calendar().list_events(self.start, self.end, zone, self.limit)
        return _read(found.error, events=[event.shown() for event in found.events])


@act(by=_ITSELF, tool=Tool("calendar_get_event", _READS))
class GetEvent(_ReadsCalendar[EventAnswer]):
    """Read one event with its description and its `etag`, by which a change can be bound to what you have seen."""

    event_id: EventId = said(_SHOWN_ID, ...)

    unread = {"event": None}  # noqa: RUF012

    async def do(self, call: InCalendar) -> Any:
        found = await call.work.calendar().get_event(self.event_id, time_zone(self.timezone, call.work.zone))
        return _read(found.error, event=next((one.shown() for one in found.events), None))


@act(by=_ITSELF, tool=Tool("calendar_find_conflicts", _READS))
class FindConflicts(_ReadsCalendar[ConflictsAnswer]):
    """
    See what stands in the way of a time, and up to three free times of the same length nearby. Nothing is changed.
    """

    start: When = said(_WHEN, ...)
    end: When = said(_END, ...)
    ignore_event_id: EventId | None = said("An event that may stand there.")

    unread = {"conflicts": [], "suggested_slots": []}  # noqa: RUF012

    async def do(self, call: InCalendar) -> Any:
        span = parse_span(self.start, self.end, time_zone(self.timezone, call.work.zone))
        found = await call.work.calendar().find_conflicts(span, self.ignore_event_id)
        conflicts = [event_in_brief(one) for one in found.conflicts]
        return _read(found.error, conflicts=conflicts, suggested_slots=[slot.shown() for slot in found.slots or ()])


# Writing fails closed.


@act(by=_ITSELF, tool=Tool("calendar_create_event", Hints(open_world=True)))
class CreateEvent(_WritesEvent):
    """
    Put an event into the calendar. Whole days take dates, the end being the day after the last. If the time is taken
    the answer is `status: conflict` with what is in the way and, when the household wishes it, up to three free
    times: nothing was created, so ask the person or choose one and call again. Nobody is invited or told; use
    `notify` for that.
    """

    title: Title = said("Its name.", ...)
    start: When = said(_WHEN, ...)
    end: When = said(_END, ...)
    idempotency_key: Annotated[str, Field(max_length=200)] | None = said(
        "Pass one when you may repeat the call: created once."
    )

    async def do(self, call: InCalendar) -> Any:
        calendar = call.work.calendar()
        span = parse_span(self.start, self.end, time_zone(self.timezone, call.work.zone))
        return _changed("created", await calendar.create_event(span, self.texts(self.title), self.idempotency_key))


@act(by=_ITSELF, tool=Tool("calendar_update_event", _CHANGES))
class UpdateEvent(_WritesEvent):
    """
    Change an event; what is left out stays as it is, and a new start alone moves it with its length. A time that is
    taken answers `status: conflict` as in calendar_create_event, and nothing was changed.
    """

    event_id: EventId = said(_SHOWN_ID, ...)
    title: Title | None = said("Its name.")
    start: When | None = said(_WHEN)
    end: When | None = said(_END)
    etag: Etag | None = said("Change only this version of the event.")

    null_counts = ("description", "location")  # an empty text takes them away

    async def do(self, call: InCalendar) -> Any:
        change = EventEdit(
            event_id=self.event_id,
            start=self.start,
            end=self.end,
            zone=time_zone(self.timezone, call.work.zone),
            texts=self.texts(self.title),
            etag=self.etag,
        )
        return _changed("updated", await call.work.calendar().update_event(change))


@act(by=_ITSELF, tool=Tool("calendar_delete_event", _CHANGES))
class DeleteEvent(_ChangesCalendar):
    """Take an event out of the calendar. This cannot be undone here; nobody is told."""

    event_id: EventId = said(_SHOWN_ID, ...)
    etag: Etag | None = said("Delete only this version of the event.")

    async def do(self, call: InCalendar) -> Any:
        await call.work.calendar().delete_event(self.event_id, self.etag)
        return {"status": "ok", "deleted": self.event_id}


CALENDAR_ACTS: Final = (ListEvents, GetEvent, FindConflicts, CreateEvent, UpdateEvent, DeleteEvent)
