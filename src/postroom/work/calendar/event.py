"""An event as we understand it, out of whatever Google sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from zoneinfo import ZoneInfo

from postroom.work.calendar.span import Span, read_span

_MOST_CHARACTERS: Final = 2_000


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

    def shown(self) -> dict[str, Any]:
        optional = {"location": self.location, "description": self.description, "link": self.link}
        return {
            "event_id": self.id,
            "title": self.title,
            **self.span.shown(),
            "busy": self.busy,
            "etag": self.etag,
            **{name: value for name, value in optional.items() if value},
        }

    def in_brief(self) -> dict[str, Any]:
        return {"event_id": self.id, "title": self.title, **self.span.shown()}


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


def _is_busy(document: Mapping[str, Any]) -> bool:
    if document.get("status") == "cancelled" or document.get("transparency") == "transparent":
        return False
    attendees = document.get("attendees")
    guests = [one for one in attendees if isinstance(one, Mapping)] if isinstance(attendees, list) else []
    return not any(one.get("self") and one.get("responseStatus") == "declined" for one in guests)


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    return value[:_MOST_CHARACTERS] if isinstance(value, str) else ""
