"""Server-sent events: which part of a page is out of date."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial

from starlette.responses import Response

from postroom.domain.clock import Clock
from postroom.domain.errors import StoreUnavailable
from postroom.doors.console.changes import Changes, Ear
from postroom.doors.console.ports import ConsoleSessions
from postroom.doors.console.visit import ConsolePage, Visit, anybody
from postroom.doors.guard.event_stream import End, EventStream, StreamEvent
from postroom.work.inbox.owner import inbox_of


def events_page(changes: Changes, clock: Clock, sessions: ConsoleSessions) -> ConsolePage:
    async def stream(visit: Visit) -> Response:
        async def is_signed_in() -> bool:
            try:
                return await sessions.find(visit.secret, clock.now_us()) is not None
            except StoreUnavailable:
                return False

        return EventStream(
            look=partial(told, is_signed_in),
            listening=changes.listening(inbox_of(visit.principal) or ""),
            clock=clock,
            first=StreamEvent(retry_ms=2000, name="listening", data="-"),
        ).response()

    return ConsolePage("/events", stream, open_to=anybody)


async def told(is_signed_in: Callable[[], Awaitable[bool]], ear: Ear) -> AsyncGenerator[StreamEvent | End, None]:
    """
    A topic and nothing else: what is shown is always read again, by the page, with its own rights.

    Before each word the session is looked at again, so that one that was ended hears nothing more. Silence needs no
    session: pages that are only open cost the database nothing.
    """
    topics = ear.take()
    if topics and not await is_signed_in():
        yield End()
    for topic in topics:
        yield StreamEvent(name=topic, data="-")
