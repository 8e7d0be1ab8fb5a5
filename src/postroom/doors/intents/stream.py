"""News of intents as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import nullcontext
from typing import Final

from fastapi.responses import StreamingResponse

from postroom.domain.clock import Clock
from postroom.doors.guard.event_stream import End, EventStream, StreamEvent
from postroom.system.signal import Signal

_LOOK_AGAIN_SECONDS: Final = 2.0  # another process may have news that rings nothing here

Fetch = Callable[[], Awaitable[tuple[Sequence[StreamEvent], bool]]]  # what is new, and whether nothing more will come


def stream(fetch: Fetch, signal: Signal, clock: Clock, wait_seconds: float) -> StreamingResponse:
    """News as it comes; `stream.end` when there can be no more, `stream.timeout` when the time is up."""

    async def look(_: Signal) -> AsyncGenerator[StreamEvent | End, None]:
        events, has_ended = await fetch()
        for event in events:
            yield event
        if has_ended:
            yield StreamEvent(name="stream.end", data={})
            yield End()

    return EventStream(
        look=look,
        listening=nullcontext(signal),
        clock=clock,
        life_seconds=wait_seconds,
        pause_seconds=_LOOK_AGAIN_SECONDS,
        last=StreamEvent(name="stream.timeout", data={}),
        has_heartbeat=False,
    ).response()
