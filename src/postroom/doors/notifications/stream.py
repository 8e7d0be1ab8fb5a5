"""Server-sent events: what arrives in one person's inbox, as it arrives."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Final

from starlette.responses import StreamingResponse

from postroom.domain.clock import Clock
from postroom.domain.errors import StoreUnavailable
from postroom.domain.notification import Notification
from postroom.domain.strict_json import strict_json
from postroom.domain.time import seconds
from postroom.doors.guard.event_stream import End, EventStream, StreamEvent
from postroom.doors.notifications.models import NotificationOut
from postroom.system.signal import Signal
from postroom.work.inbox.feed import Feed
from postroom.work.inbox.ports import Notes

_OVERLAP_US: Final = seconds(10)
_MOST_AT_ONCE: Final = 100


class Arrivals:
    """
    What came in since the last look.

    A row may become visible a little later than its own time says, so every look
    goes back over the last seconds and leaves out what was told before.
    """

    def __init__(self, notes: Notes, user_id: str, since_us: int, told: str | None = None) -> None:
        self._notes = notes
        self._user_id = user_id
        self._since_us = since_us
        self._told: dict[str, int] = {told: since_us} if told else {}

    async def look(self) -> Sequence[Notification]:
        limit = _MOST_AT_ONCE + len(self._told)
        found = await self._notes.since(self._user_id, self._since_us, limit)
        fresh = [one for one in found if one.id not in self._told]
        self._told |= {one.id: one.created_at_us for one in fresh}
        if found:
            self._since_us = max(self._since_us, found[-1].created_at_us - _OVERLAP_US)
            self._told = {id_: moment for id_, moment in self._told.items() if moment >= self._since_us}
        return fresh


async def arrivals(notes: Notes, user_id: str, last_event_id: str | None, now_us: int) -> Arrivals:
    """From where an earlier stream stopped, or from now on."""
    moment, _, told = (last_event_id or "").partition(".")
    if moment.isascii() and moment.isdigit() and len(moment) < 19:
        return Arrivals(notes, user_id, int(moment), told)
    from_now_on = Arrivals(notes, user_id, now_us - _OVERLAP_US)
    while await from_now_on.look():
        pass
    return from_now_on


def stream(notes: Notes, feed: Feed, clock: Clock, user_id: str, last_event_id: str | None) -> StreamingResponse:
    """`unread` with the count, first and whenever it changes; `notification` with each new one."""
    coming: Arrivals | None = None
    shown_count = -1

    async def look(_: Signal) -> AsyncGenerator[StreamEvent | End, None]:
        nonlocal coming, shown_count
        coming = coming or await arrivals(notes, user_id, last_event_id, clock.now_us())
        try:
            while fresh := await coming.look():
                for one in fresh:
                    yield _notification(one)
            count = await notes.unread(user_id, clock.now_us())
        except StoreUnavailable:
            return  # the next look will do
        if count != shown_count:
            shown_count = count
            yield StreamEvent(name="unread", data={"count": count})

    return EventStream(
        look=look, listening=feed.listening(user_id), clock=clock, first=StreamEvent(retry_ms=1000)
    ).response()


def _notification(one: Notification) -> StreamEvent:
    body = NotificationOut.of(one).model_dump(mode="json")
    return StreamEvent(name="notification", id=f"{one.created_at_us}.{one.id}", data=strict_json(body))
