"""Server-sent events: which part of a page is out of date."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from starlette.responses import Response, StreamingResponse

from postroom.console.changes import Changes
from postroom.console.ports import Sessions
from postroom.console.visit import Page, Visit, anybody
from postroom.domain.errors import StoreUnavailable
from postroom.domain.time import seconds
from postroom.inbox.owner import inbox_of
from postroom.ports import Clock

# A stream is cut now and then, so that none outlives its browser for long; browsers reconnect by themselves.
LIFE_SECONDS: Final = 300.0
HEARTBEAT_SECONDS: Final = 15.0


def events_page(changes: Changes, clock: Clock, sessions: Sessions) -> Page:
    async def stream(visit: Visit) -> Response:
        async def is_signed_in() -> bool:
            try:
                return await sessions.find(visit.secret, clock.now_us()) is not None
            except StoreUnavailable:
                return False

        return StreamingResponse(
            _frames(changes, clock, inbox_of(visit.principal) or "", is_signed_in),
            media_type="text/event-stream",
            headers={"X-Accel-Buffering": "no"},
        )

    return Page("/events", stream, open_to=anybody)


async def _frames(
    changes: Changes, clock: Clock, user_id: str, is_signed_in: Callable[[], Awaitable[bool]]
) -> AsyncIterator[str]:
    """
    A topic and nothing else: what is shown is always read again, by the page, with its own rights.

    Before each word the session is looked at again, so that one that was ended hears nothing more.
    """
    ends_us = clock.now_us() + seconds(LIFE_SECONDS)
    with changes.listening(user_id) as ear:
        yield "retry: 2000\nevent: listening\ndata: -\n\n"
        while not changes.stopping.is_set() and clock.now_us() < ends_us:
            news = ear.signal.news()
            for topic in ear.take():
                yield f"event: {topic}\ndata: -\n\n"
            is_quiet = not await clock.wait(news, min(clock.now_us() + seconds(HEARTBEAT_SECONDS), ends_us))
            if not await is_signed_in():
                return
            if is_quiet:
                yield ": still here\n\n"
